// Upgrading and downgrading holds. Semantics 29 and 30.
#include <algorithm>
#include <utility>
#include <vector>

#include "core/machine.h"
#include "core/manager_call.h"
#include "core/time_math.h"

namespace lockset {

Result<LockSet> Manager::set_to_convert_to(const HoldState& hold, Mode mode) const {
  const auto invalid = [&](std::string_view why) {
    return Error{Errc::invalid,
                 "stamp " + std::to_string(hold.stamp().value) + " is " + std::string(why)};
  };
  if (app_hold_ && app_hold_->stamp() == hold.stamp()) {
    return invalid("the hold of application " + in_quotes(owner_.app) +
                   " on its own id, which is always a write");
  }
  const auto items = hold.set().items();
  const bool nothing_to_do =
      std::ranges::all_of(items, [&](const LockRequest& item) { return item.mode == mode; });
  if (nothing_to_do) {
    return invalid(mode == Mode::write ? "held as write already: there is nothing to upgrade"
                                       : "held as read already: there is nothing to downgrade");
  }
  std::vector<LockRequest> wanted;
  for (const LockRequest& item : items) wanted.push_back({item.name, mode});
  return LockSet::make(std::move(wanted));
}

Result<std::shared_ptr<HoldState>> Manager::convert(Stamp stamp, Mode mode) {
  if (Status status = usable(); !status) return std::move(status).error();
  const std::shared_ptr<HoldState> hold = keeper_.find(stamp);
  if (hold) return convert(*hold, mode);
  return Error{Errc::not_held, "stamp " + std::to_string(stamp.value) +
                                   " is not held here: only the Locks that took it can upgrade "
                                   "or downgrade it"};
}

Result<std::shared_ptr<HoldState>> Manager::convert(HoldState& hold, Mode mode) {
  if (Status status = usable(); !status) return std::move(status).error();
  if (!traits_.converting) {
    return Error{Errc::unsupported,
                 "this store can't upgrade or downgrade a hold: release it, and acquire its names "
                 "anew"};
  }
  const Result<LockSet> set = set_to_convert_to(hold, mode);
  if (!set) return set.error();
  // Of two calls in the plain form, the second one meets what the first one made of the hold.
  const auto alone = hold.convert_alone();
  if (!hold.valid()) return not_held(hold.stamp(), owner_.app);

  AcquireLoop::Settings settings;
  settings.single_try = true;
  settings.patience = options_.store_patience;
  Call call(*set, hold.known().owner, hold.asked_lease(), {}, settings, Stamp{high_water_.load()},
            BootClock::now(), thread_random());
  call.ends_with_process = hold.ends_with_process();
  call.replaces = &hold;
  // From some moment of a downgrade on others may read, long before its answer arrives.
  hold.begin_conversion(mode == Mode::read);
  Result<std::shared_ptr<HoldState>> converted = acquire(call);
  if (converted && *converted) return converted;
  return not_converted(call, std::move(converted));
}

// The old hold stands as before, unless the store has ended it, or may have let others read.
Result<std::shared_ptr<HoldState>> Manager::not_converted(
    const Call& call, Result<std::shared_ptr<HoldState>> outcome) {
  HoldState& hold = *call.replaces;
  const bool in_doubt = !call.loop.doubts().empty();
  const bool downgrade = call.set.items().front().mode == Mode::read;
  bool newly_lost = false;
  if (call.replaced_has_ended) {
    newly_lost = hold.lose(LostReason::gone);
  } else if (in_doubt && downgrade) {
    newly_lost = hold.lose(LostReason::in_doubt);
    keeper_.tidy_later(hold.known(), later(BootClock::now(), hold.lease()));
    if (outcome) outcome = Error{Errc::indeterminate, "a reply of the store was lost"};
  }
  newly_lost = hold.end_conversion() || newly_lost;
  if (newly_lost) {
    if (const auto kept = keeper_.find(hold.stamp())) keeper_.announce(kept);
  }
  if (outcome || !in_doubt || call.replaced_has_ended) return outcome;
  const std::string stamp = "stamp " + std::to_string(hold.stamp().value);
  return Error{Errc::indeterminate,
               downgrade
                   ? "it is not known whether " + stamp +
                         " was downgraded, and it counts as lost: " + outcome.error().message
                   : "it is not known whether " + stamp +
                         " will still be upgraded; then it is lost: " + outcome.error().message};
}

// The new hold has taken its place.
void Manager::retire(HoldState& replaced) {
  const HoldState::Released released = replaced.release();
  const std::shared_ptr<HoldState> kept = keeper_.remove(replaced.stamp());
  if (released.newly_lost && kept) keeper_.announce(kept);
  if (!released.was_held) return;
  keeper_.tell(
      {.kind = Event::Kind::released, .stamp = replaced.stamp(), .items = replaced.set().items()});
}

}  // namespace lockset
