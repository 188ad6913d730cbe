#include "core/quorum_mark.h"

#include "core/migration_mark.h"

namespace lockset {
namespace {

// From the lowest bit: the step of MigrationMark, the index, the number of nodes, the state, the
// generation, the quorum.
constexpr int index_at = 8;
constexpr int nodes_at = 12;
constexpr int state_at = 14;
constexpr int generation_at = 16;
constexpr int quorum_at = 24;

constexpr std::int64_t mask(int bits) { return (std::int64_t{1} << bits) - 1; }

}  // namespace

std::optional<QuorumMark> QuorumMark::decode(std::int64_t phase) {
  if ((phase & mask(index_at)) != MigrationMark::node_of_quorum || phase < 0) return {};
  QuorumMark mark;
  mark.index = static_cast<int>((phase >> index_at) & mask(4));
  mark.nodes = static_cast<int>((phase >> nodes_at) & mask(2)) * 2 + 3;
  const auto state = (phase >> state_at) & mask(2);
  mark.generation = static_cast<std::uint8_t>((phase >> generation_at) & mask(8));
  const std::int64_t quorum = phase >> quorum_at;
  if (state > 2 || quorum < 1 || quorum > most_quorum_number || mark.index >= mark.nodes) return {};
  mark.state = static_cast<State>(state);
  mark.quorum = static_cast<std::uint32_t>(quorum);
  return mark;
}

std::int64_t QuorumMark::encode() const noexcept {
  return MigrationMark::node_of_quorum | (std::int64_t{index} << index_at) |
         (std::int64_t{(nodes - 3) / 2} << nodes_at) |
         (static_cast<std::int64_t>(state) << state_at) |
         (std::int64_t{generation} << generation_at) | (std::int64_t{quorum} << quorum_at);
}

}  // namespace lockset
