// The holds that block a step, as lines for people. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lockset/clock.h"
#include "lockset/inspection.h"
#include "lockset/migration.h"

namespace lockset::migrate {

struct Obstacle {
  MigrationObstacle shown;
  // Only time is missing: when to look again.
  std::optional<TimePoint> due = {};
};

// The names under which shadow clients leave their reports.
inline constexpr std::string_view report_prefix = "@shadow:";

// Holds for steering, and the shadow's reports: these are nobody's locks.
bool is_bookkeeping(const std::vector<LockRequest>& items);

// Taken outside this migration: by a client that knows only one store, or in another migration.
bool stands_alone(const Owner& owner, std::uint32_t migration);
// In the old store: taken in a phase before dual-new. Either the hold has no part in the new store,
// or its stamp does not come from there (and the new store's floors would refuse its owner).
bool is_older_than_dual_new(const Owner& owner, std::uint32_t migration);
// In the new store: it has no part in the old one, and is no trial of the shadow.
bool stands_in_new_alone(const Owner& owner, std::uint32_t migration);

// One line for each of the first few holds for which `wanted` is true, and one for the number of
// the others: name, mode, owner, end, and `remedy`.
template <class Wanted>
std::vector<Obstacle> holds_in_the_way(const Inspection& seen, std::string_view store,
                                       std::string_view remedy, const Wanted& wanted);
// The same for waiters; empty if the store lists none.
template <class Wanted>
std::vector<Obstacle> waiters_in_the_way(const Inspection& seen, std::string_view store,
                                         std::string_view remedy, const Wanted& wanted);

// The store may have forgotten live holds: what it shows proves nothing yet.
std::optional<Obstacle> quarantine_in_the_way(const Inspection& seen, std::string_view store);

// Records that a condition was true for a while: at every look in between, and at its beginning and
// end. For one thread.
class Observation {
 public:
  // The condition was true at `now`. True if it has been so for `needed`, at looks under the same
  // `circumstances`.
  bool clean(const std::string& circumstances, TimePoint now, Duration needed) {
    if (!since_ || circumstances_ != circumstances) {
      since_ = now;
      circumstances_ = circumstances;
    }
    due_ = *since_ + needed;
    return now >= due_;
  }
  // The condition was not true.
  void spoilt() { since_.reset(); }
  // REQUIRES: clean() was the last call.
  [[nodiscard]] TimePoint due() const noexcept { return due_; }

 private:
  std::optional<TimePoint> since_;
  TimePoint due_{};
  std::string circumstances_;
};

// --- in detail ---

std::string described(const HoldInfo& hold);
std::string described(const WaiterInfo& waiter);

template <class Each, class Wanted, class Passes>
std::vector<Obstacle> lines_of(const std::vector<Each>& all, std::string_view verb,
                               std::string_view store, std::string_view remedy,
                               const Wanted& wanted, const Passes& passes) {
  constexpr std::size_t most_lines = 5;
  std::vector<Obstacle> lines;
  std::size_t more = 0;
  bool more_pass = true;
  for (const Each& each : all) {
    if (is_bookkeeping(each.items) || !wanted(each.owner)) continue;
    if (lines.size() < most_lines) {
      lines.push_back({{described(each) + " " + std::string(verb) + " " + std::string(store) +
                            "; " + std::string(remedy),
                        passes(each)}});
    } else {
      ++more;
      more_pass = more_pass && passes(each);
    }
  }
  if (more > 0) {
    lines.push_back({{std::to_string(more) + " more " + std::string(verb) + " " +
                          std::string(store) + "; " + std::string(remedy),
                      more_pass}});
  }
  return lines;
}

template <class Wanted>
std::vector<Obstacle> holds_in_the_way(const Inspection& seen, std::string_view store,
                                       std::string_view remedy, const Wanted& wanted) {
  return lines_of(seen.holds, "held in", store, remedy, wanted,
                  [](const HoldInfo& hold) { return hold.remaining.has_value(); });
}

template <class Wanted>
std::vector<Obstacle> waiters_in_the_way(const Inspection& seen, std::string_view store,
                                         std::string_view remedy, const Wanted& wanted) {
  return lines_of(seen.waiters, "waited for in", store, remedy, wanted,
                  [](const WaiterInfo&) { return true; });
}

}  // namespace lockset::migrate
