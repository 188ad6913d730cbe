// Semantics 4, for names as they were read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "backends/zookeeper/paths.h"

namespace lockset::zookeeper {

// A holder that blocks another hold of this mode; null: none does.
inline const Holder* in_the_way(const std::vector<Holder>& holders, Mode mode,
                                std::uint32_t permits) {
  for (const Holder& holder : holders) {
    if (holder.mode != mode) return &holder;
  }
  return holders.size() + 1 <= permits ? nullptr : &holders.front();
}

// Semantics 27.
inline bool being_written(const std::vector<Holder>& holders) {
  return std::any_of(holders.begin(), holders.end(),
                     [](const Holder& holder) { return holder.mode == Mode::write; });
}

// The holders among a name's children.
inline std::vector<Holder> holders_of(const std::vector<std::string>& children) {
  std::vector<Holder> holders;
  for (const std::string& child : children) {
    if (std::optional<Holder> holder = holder_of(child)) holders.push_back(*std::move(holder));
  }
  return holders;
}

}  // namespace lockset::zookeeper
