// Which holds stand in the way of a step, as lines for people. Pure.
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
  // Nothing but time is missing: when to look again.
  std::optional<TimePoint> due = {};
};

// The names under which shadow clients leave their reports.
inline constexpr std::string_view report_prefix = "@shadow:";

// Holds of those who steer, and the shadow's reports: nobody's locks.
bool is_bookkeeping(const std::vector<LockRequest>& items);

// Taken without regard to this migration: by a client that knows of the one store only, or of
// another migration.
bool stands_alone(const Owner& owner, std::uint32_t migration);
// In the old store: of an earlier phase than dual-new. Either no part of it is in the new store, or
// its stamp is not (the new store's floors would shut its owner out).
bool is_older_than_dual_new(const Owner& owner, std::uint32_t migration);
// In the new store: no part of it is in the old one, and it is no trial of the shadow.
bool stands_in_new_alone(const Owner& owner, std::uint32_t migration);

// A line for each of the first few holds for which `wanted`, and one for the number of the others:
// name, mode, who, until when, and `remedy`.
template <class Wanted>
std::vector<Obstacle> holds_in_the_way(const Inspection& seen, std::string_view store,
                                       std::string_view remedy, const Wanted& wanted);
// As that for waiters; empty where the store lists none.
template <class Wanted>
std::vector<Obstacle> waiters_in_the_way(const Inspection& seen, std::string_view store,
                                         std::string_view remedy, const Wanted& wanted);

// The store may have forgotten holds that live: what it shows proves nothing yet.
std::optional<Obstacle> quarantine_in_the_way(const Inspection& seen, std::string_view store);

// Says that something was so for a while: at every look in between, and at its beginning and end.
// For one thread.
class Observation {
 public:
  // Looked at `now` and found it so. True if it has been so for `needed`, at looks under the same
  // `circumstances`.
  bool clean(const std::string& circumstances, TimePoint now, Duration needed) {
    if (!since_ || circumstances_ != circumstances) {
      since_ = now;
      circumstances_ = circumstances;
    }
    due_ = *since_ + needed;
    return now >= due_;
  }
  // It was not so.
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
