#include "tests/chaos/migration/journey.h"

#include <utility>

namespace lockset::chaos {

std::string_view to_string(Way way) noexcept {
  switch (way) {
    case Way::old_store:
      return "old";
    case Way::both:
      return "migrate";
    case Way::new_store:
      return "new";
  }
  return "?";
}

std::string_view to_string(Act act) noexcept {
  switch (act) {
    case Act::start:
      return "start";
    case Act::advance:
      return "advance";
    case Act::roll_back:
      return "rollback";
    case Act::finish:
      return "finish";
  }
  return "?";
}

bool serves(MigrationPhase phase, Way way) noexcept {
  switch (way) {
    case Way::old_store:
      return phase <= MigrationPhase::dual_old;
    case Way::both:
      return true;
    case Way::new_store:
      return phase >= MigrationPhase::new_only;
  }
  return false;
}

namespace {

using Phase = MigrationPhase;

class Planner {
 public:
  explicit Planner(std::size_t processes) : all_(processes), half_((processes + 1) / 2) {}

  // Without an end: up to `until`.
  void forward(Phase until) {
    if (legs_.empty()) legs_.push_back({.phase = Phase::old_only});
    add({.act = Act::start,
         .phase = Phase::shadow,
         .restarts = {{Way::both, 0, half_}},
         .refused = {Way::new_store}});
    add({.act = Act::advance,
         .phase = Phase::dual_old,
         .restarts = {{Way::both, half_, all_}},
         .refused = {Way::new_store},
         .sleepers = until == Phase::dual_new ? std::vector{Way::old_store}
                                              : std::vector{Way::old_store, Way::old_store}});
    add({.act = Act::advance,
         .phase = Phase::dual_new,
         .refused = {Way::old_store, Way::new_store},
         .woken = {Way::old_store}});
    if (until == Phase::dual_new) return;
    // A few stay as they are.
    add({.act = Act::advance,
         .phase = Phase::new_only,
         .restarts = {{Way::new_store, 0, all_ - all_ / 4}},
         .refused = {Way::old_store},
         .woken = {Way::old_store}});
    if (until == Phase::new_only) return;
    add({.act = Act::advance, .phase = Phase::closed, .refused = {Way::old_store}});
    add({.act = Act::finish, .phase = Phase::finished, .refused = {Way::old_store}});
  }

  void back() {
    if (legs_.back().phase == Phase::new_only) {
      legs_.back().restarts.push_back({Way::both, 0, all_ - all_ / 4});
      legs_.back().sleepers.push_back(Way::new_store);
      add({.act = Act::roll_back,
           .phase = Phase::dual_new,
           .refused = {Way::new_store, Way::old_store},
           .woken = {Way::new_store}});
    }
    add({.act = Act::roll_back,
         .phase = Phase::dual_old,
         .restarts = {{Way::old_store, 0, half_}},
         .refused = {Way::new_store}});
    add({.act = Act::roll_back,
         .phase = Phase::shadow,
         .restarts = {{Way::old_store, half_, all_}},
         .refused = {Way::new_store}});
    // Some processes are configured too late.
    add({.act = Act::roll_back,
         .phase = Phase::old_only,
         .restarts = {{Way::both, 0, 1}},
         .refused = {Way::new_store}});
  }

  std::vector<Leg> legs() && { return std::move(legs_); }

 private:
  void add(Leg leg) { legs_.push_back(std::move(leg)); }

  std::size_t all_;
  std::size_t half_;
  std::vector<Leg> legs_;
};

}  // namespace

std::vector<Leg> journey(std::size_t processes, std::optional<MigrationPhase> back_from) {
  Planner planner(processes);
  if (back_from) {
    planner.forward(*back_from);
    planner.back();
  }
  planner.forward(Phase::finished);
  return std::move(planner).legs();
}

}  // namespace lockset::chaos
