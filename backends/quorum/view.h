// What is known of the nodes' configurations, and what they mean together. Pure.
//
// Plain values; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/quorum_mark.h"
#include "lockset/error.h"
#include "lockset/space_config.h"

namespace lockset::quorum {

// How many of `nodes` are a majority.
constexpr std::size_t majority_of(std::size_t nodes) { return nodes / 2 + 1; }

// As one node was read last.
struct NodeConfig {
  SpaceConfig config;
  // The node is joining, and leases of before it was emptied may not have ended.
  bool waiting_to_join = false;
  bool operator==(const NodeConfig&) const = default;
};

struct View {
  struct Seat {
    std::optional<NodeConfig> read;
    // Its holds count: it is a node of this quorum, and of no other.
    bool counts = false;
    int index = -1;       // of the node in the quorum; -1 unless it counts
    std::string trouble;  // why it does not count; empty if it does, or was never read
  };
  std::vector<Seat> seats;
  // Fewer than a majority count: nothing may be granted.
  std::optional<Error> refusal;
  // The configuration for the core. Its version stands for all of the nodes' in this process.
  SpaceConfig together;

  [[nodiscard]] std::size_t majority() const { return majority_of(seats.size()); }
  // The seat of the node with this index; unset if none counts with it.
  [[nodiscard]] std::optional<std::size_t> seat_of(int index) const;
};

// `together.version` is the sum of the versions that were read.
View put_together(const std::vector<std::optional<NodeConfig>>& read);

// 1, or max_permits for any number: between them a majority can't count (ADR 0073).
bool can_be_counted(Mode mode, std::optional<std::uint32_t> permits);

}  // namespace lockset::quorum
