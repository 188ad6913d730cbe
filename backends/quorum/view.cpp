#include "backends/quorum/view.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "core/migration_mark.h"

namespace lockset::quorum {
namespace {

struct Marked {
  QuorumMark mark;
  bool ready = false;  // it may count
};

std::optional<Marked> marked(const std::optional<NodeConfig>& read) {
  if (!read) return {};
  const std::optional<QuorumMark> mark = QuorumMark::decode(read->config.migration_phase);
  if (!mark) return {};
  const bool ready = mark->state == QuorumMark::State::member ||
                     (mark->state == QuorumMark::State::joining && !read->waiting_to_join);
  return Marked{*mark, ready};
}

std::string why_unmarked(const SpaceConfig& config) {
  if (config.migration_phase == 0) {
    return "it is no node of this quorum, or was wiped: run `lockset init` with the address of "
           "the quorum";
  }
  const Result<MigrationMark> migration = MigrationMark::decode(config.migration_phase);
  return migration ? "it takes part in a migration, and can't be a node of a quorum"
                   : migration.error().message;
}

// The mark that a majority has.
std::optional<QuorumMark> common_mark(const std::vector<std::optional<Marked>>& marks) {
  for (const auto& candidate : marks) {
    if (!candidate || candidate->mark.nodes != static_cast<int>(marks.size())) continue;
    const auto same = std::count_if(marks.begin(), marks.end(), [&](const auto& each) {
      return each && each->mark.same_quorum(candidate->mark);
    });
    if (static_cast<std::size_t>(same) >= majority_of(marks.size())) return candidate->mark;
  }
  return {};
}

std::string trouble_of(const NodeConfig& read, const std::optional<Marked>& mark,
                       const std::optional<QuorumMark>& common, std::size_t nodes) {
  if (!mark) return why_unmarked(read.config);
  if (mark->mark.nodes != static_cast<int>(nodes)) {
    return "it is a node of a quorum of " + std::to_string(mark->mark.nodes) +
           ", and this address names " + std::to_string(nodes);
  }
  if (!common || !mark->mark.same_quorum(*common)) {
    return "it is a node of another quorum, or of an earlier state of this one: see `lockset "
           "doctor`";
  }
  if (mark->mark.state == QuorumMark::State::founding) {
    return "the quorum is not complete: run `lockset init` with the address of the quorum again";
  }
  return mark->ready ? std::string()
                     : "it was empty, and counts once the leases of before have ended";
}

std::uint32_t countable(std::uint32_t permits) { return permits >= max_permits ? max_permits : 1; }

// The lower permits for every name.
void lower_permits(SpaceConfig& into, const std::vector<const SpaceConfig*>& configs) {
  std::set<std::string> names;
  for (const SpaceConfig* config : configs) {
    for (const auto& [name, entry] : config->permits) names.insert(name);
  }
  for (const std::string& name : names) {
    SpaceConfig::Entry entry;
    for (const SpaceConfig* config : configs) {
      const auto at = config->permits.find(name);
      if (at == config->permits.end()) continue;
      if (at->second.read) entry.read = max_permits;
      if (at->second.write) entry.write = 1;
    }
    for (const SpaceConfig* config : configs) {
      if (entry.read) entry.read = std::min(*entry.read, countable(config->permits_of(name).read));
    }
    into.permits[name] = entry;
  }
}

}  // namespace

std::optional<std::size_t> View::seat_of(int index) const {
  for (std::size_t i = 0; i < seats.size(); ++i) {
    if (seats[i].counts && seats[i].index == index) return i;
  }
  return {};
}

View put_together(const std::vector<std::optional<NodeConfig>>& read) {
  View view;
  const std::size_t nodes = read.size();
  view.seats.resize(nodes);
  std::vector<std::optional<Marked>> marks;
  for (const auto& each : read) marks.push_back(marked(each));
  const std::optional<QuorumMark> common = common_mark(marks);

  std::vector<const SpaceConfig*> counted;
  std::vector<std::int64_t> bases;
  std::string troubles;
  std::set<int> indexes;
  for (std::size_t i = 0; i < nodes; ++i) {
    View::Seat& seat = view.seats[i];
    seat.read = read[i];
    if (!read[i]) continue;
    view.together.version += read[i]->config.version;
    seat.trouble = trouble_of(*read[i], marks[i], common, nodes);
    if (seat.trouble.empty() && !indexes.insert(marks[i]->mark.index).second) {
      seat.trouble = "it is the same lock space as another node of this address";
    }
    if (!seat.trouble.empty()) {
      troubles +=
          (troubles.empty() ? "node " : "; node ") + std::to_string(i + 1) + ": " + seat.trouble;
      continue;
    }
    seat.counts = true;
    seat.index = marks[i]->mark.index;
    counted.push_back(&read[i]->config);
    bases.push_back(read[i]->config.stamp_base.value);
  }
  if (counted.size() < view.majority()) {
    view.refusal =
        troubles.empty()
            ? Error{Errc::unavailable, "no majority of the quorum's nodes answered"}
            : Error{Errc::misconfigured, "no majority of the quorum's nodes counts: " + troubles};
    return view;
  }
  lower_permits(view.together, counted);
  view.together.max_lease = (*std::min_element(counted.begin(), counted.end(),
                                               [](const SpaceConfig* a, const SpaceConfig* b) {
                                                 return a->max_lease < b->max_lease;
                                               }))
                                ->max_lease;
  // Every majority contains a node with at least this base.
  bases.resize(nodes, 0);
  std::sort(bases.begin(), bases.end(), std::greater<>());
  view.together.stamp_base = Stamp{bases[nodes - view.majority()] * 16};
  return view;
}

bool can_be_counted(Mode mode, std::optional<std::uint32_t> permits) {
  if (!permits || *permits == 1) return true;
  return mode == Mode::read && *permits == max_permits;
}

}  // namespace lockset::quorum
