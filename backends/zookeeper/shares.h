// Readers of one name that do not get in each other's way. ADR 0080.
//
// A grant raises the version of the name, so of two at once one has to be repeated. Where readers
// meet often, the name is split: below it stand nodes, the shares, and each hold has one of them,
// by its token. A reader only raises the version of its share, and compares that of the name. A
// writer compares all shares. The read permits are divided among the shares, so that readers who
// don't know of each other are never too many together.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/zookeeper/paths.h"

namespace lockset::zookeeper {

inline constexpr std::size_t share_count = 16;
// The versions of a name's shares, as far as they are known.
using Shares = std::array<std::optional<std::int32_t>, share_count>;

// The share of the hold with this token.
std::size_t share_of(std::string_view token);
// How many of the name's read permits belong to the share; those of all shares together are all.
std::uint32_t permits_of_share(std::size_t share, std::uint32_t permits);
// Whether another reader in this share is admitted without a look at readers who come meanwhile: no
// share has more holders than permits, and this one has a permit left.
bool share_has_room(const std::vector<Holder>& holders, std::size_t share, std::uint32_t permits);
// Whether a name is worth it, and no set of such names becomes too large for a request.
bool may_split(std::string_view path_of_name, std::uint32_t read_permits);

}  // namespace lockset::zookeeper
