#include "backends/zookeeper/shares.h"

#include <algorithm>

namespace lockset::zookeeper {
namespace {

// With fewer, a share would often have none left while others do.
constexpr std::uint32_t least_permits = 4 * share_count;
// A write of 256 names compares 16 shares of each, in one request.
constexpr std::size_t longest_path = 96;

}  // namespace

std::size_t share_of(std::string_view token) {
  const char digit = token.empty() ? '0' : token.front();
  const int value = digit <= '9' ? digit - '0' : digit - 'a' + 10;
  return static_cast<std::size_t>(value) % share_count;
}

std::uint32_t permits_of_share(std::size_t share, std::uint32_t permits) {
  constexpr auto count = static_cast<std::uint32_t>(share_count);
  return permits / count + (share < permits % count ? 1 : 0);
}

bool share_has_room(const std::vector<Holder>& holders, std::size_t share, std::uint32_t permits) {
  std::array<std::uint32_t, share_count> held{};
  for (const Holder& holder : holders) ++held.at(share_of(holder.token));
  ++held.at(share);
  for (std::size_t i = 0; i < share_count; ++i) {
    if (held.at(i) > permits_of_share(i, permits)) return false;
  }
  return true;
}

bool may_split(std::string_view path_of_name, std::uint32_t read_permits) {
  return read_permits >= least_permits && path_of_name.size() <= longest_path;
}

}  // namespace lockset::zookeeper
