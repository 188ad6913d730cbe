// What a store's configuration says about a quorum that the store is a node of: another meaning of
// SpaceConfig::migration_phase. So it is compared in every granting step (semantics 7): a node that
// was wiped, or given to another quorum, grants nothing to a client that does not know. ADR 0073.
//
// Plain values; thread-safe.
#pragma once

#include <cstdint>
#include <optional>

namespace lockset {

struct QuorumMark {
  enum class State : std::uint8_t {
    founding = 0,  // the quorum was never complete: nobody takes locks here yet
    member = 1,
    joining = 2,  // a node that was empty: counts once the leases of before have ended
  };
  State state = State::founding;
  std::uint32_t quorum = 0;     // drawn when it was founded; 1 to 2^24 - 1
  std::uint8_t generation = 0;  // raised, on all nodes, whenever an empty node joins
  int nodes = 3;                // 3, 5, 7 or 9
  int index = 0;                // of this node; 0 to nodes - 1

  // Unset for a configuration that says nothing of a quorum.
  static std::optional<QuorumMark> decode(std::int64_t phase);
  // At most 2^48, which every store keeps exactly.
  [[nodiscard]] std::int64_t encode() const noexcept;

  [[nodiscard]] bool same_quorum(const QuorumMark& other) const noexcept {
    return quorum == other.quorum && generation == other.generation && nodes == other.nodes;
  }
  bool operator==(const QuorumMark&) const = default;
};

inline constexpr std::uint32_t most_quorum_number = (1U << 24) - 1;

}  // namespace lockset
