#include "backends/sqlite/acquire.h"

#include <algorithm>
#include <chrono>

#include "backends/conversion.h"
#include "backends/sqlite/config.h"
#include "backends/sqlite/holds.h"
#include "backends/sqlite/space_row.h"
#include "backends/sqlite/traces.h"
#include "backends/sqlite/waiting.h"

namespace lockset::sqlite {
namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;

std::string label_of(Transaction& transaction, Stamp stamp) {
  Query row = transaction.db.use("SELECT label FROM holds WHERE stamp = ?");
  return row.bind(stamp.value).next() ? row.text(0) : std::string();
}

// Semantics 4 for one item: which of the two groups block it.
struct Verdict {
  bool reads_block = false;
  bool writes_block = false;
  [[nodiscard]] bool blocked() const { return reads_block || writes_block; }
};

Verdict judge(Mode mode, const NameState& name, std::uint32_t permits) {
  if (mode == Mode::write) return {name.reads.count > 0, name.writes.count >= permits};
  return {name.reads.count >= permits, name.writes.count > 0};
}

class Step {
 public:
  Step(Transaction& transaction, const Attempt& attempt, const WakeSlots& slots)
      : transaction_(transaction), attempt_(attempt), request_(attempt.request), slots_(slots) {}

  AttemptResult run() {
    space_ = read_space(transaction_);
    if (space_.version != request_.config_version) return {Stale{}};
    const Stamp replaced = request_.replaces != nullptr ? request_.replaces->stamp : Stamp{};
    for (const LockRequest& item : request_.set->items()) {
      names_.push_back(look_at_name(transaction_, item.name, &expired_, replaced));
    }
    for (const Stamp stamp : expired_) {
      const Items items = remove_hold(transaction_, stamp);
      freed_.insert(freed_.end(), items.begin(), items.end());
    }
    for (const Expected& expected : request_.unchanged_since) {
      if (std::optional<Changed> found = changed(expected)) return refuse(*std::move(found));
    }
    if (request_.replaces != nullptr && !can_replace(replaced)) return gone();
    bool blocked = false;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      verdicts_.push_back(judge(item(i).mode, names_[i], request_.permits[i]));
      blocked = blocked || verdicts_.back().blocked();
    }
    if (blocked) return busy();
    if (const std::optional<TokenHold> granted = twin()) return grant_again(*granted);
    if (is_downgrade(request_) || nobody_waits(transaction_)) return grant();
    if (request_.max_overtakes != unlimited_overtakes) {
      if (is_kept()) return busy();
      count_overtaking(transaction_, request_.set->items(), waiter());
    }
    return grant();
  }

 private:
  [[nodiscard]] const LockRequest& item(std::size_t i) const { return request_.set->items()[i]; }

  [[nodiscard]] std::int64_t waiter() const {
    return attempt_.ticket != nullptr ? attempt_.ticket->waiter : 0;
  }

  bool can_replace(Stamp stamp) {
    const std::optional<StoredHold> hold = find_hold(transaction_, stamp);
    return hold && hold->live && hold->app == request_.owner->app;
  }

  AttemptResult gone() {
    if (const std::optional<TokenHold> granted = twin()) return grant_again(*granted);
    wake_for(transaction_, freed_);
    return {Gone{}};
  }

  std::optional<Changed> changed(const Expected& expected) {
    Trace trace = read_trace(transaction_, item(expected.item).name, space_);
    if (trace.last_write && trace.last_write == expected.last_write) return {};
    trace.being_written = names_[expected.item].writes.count > 0;
    return Changed{expected.item, std::move(trace)};
  }

  AttemptResult refuse(Changed changed) {
    wake_for(transaction_, freed_);
    if (attempt_.ticket) leave_line(transaction_, attempt_.ticket->waiter);
    return {std::move(changed)};
  }

  // A waiter that was overtaken often enough counts as a hold towards those who came after it.
  // True if that blocks an item.
  bool is_kept() {
    bool blocked = false;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      kept_.push_back(
          look_who_is_kept(transaction_, item(i).name, waiter(), request_.max_overtakes));
      NameState all = names_[i];
      all.reads.count += kept_[i].reads;
      all.writes.count += kept_[i].writes;
      verdicts_[i] = judge(item(i).mode, all, request_.permits[i]);
      blocked = blocked || verdicts_[i].blocked();
    }
    return blocked;
  }

  // The earlier grant, if the same request was delivered twice. Its hold covers all names, so there
  // is none if one of them is free: the usual case needs no query.
  std::optional<TokenHold> twin() {
    const bool all_held = std::all_of(names_.begin(), names_.end(), [](const NameState& name) {
      return static_cast<bool>(name.floor());
    });
    if (!all_held) return {};
    return find_token(transaction_, item(0).name, request_.token);
  }

  AttemptResult grant() {
    const Stamp stamp = draw_stamp(transaction_, space_, request_.min_stamp);
    const std::int64_t lease_us = duration_cast<microseconds>(request_.lease).count();
    add_hold(transaction_,
             NewHold{stamp, request_.token, *request_.owner, *request_.set, lease_us,
                     request_.ends_with_process ? transaction_.liveness.own() : std::nullopt});
    Grant grant;
    grant.stamp = stamp;
    grant.lease = microseconds(lease_us);
    if (request_.replaces != nullptr) {
      grant.lease = lease_until(take_place(transaction_, request_.replaces->stamp, stamp));
    }
    grant.store_time_us = transaction_.now_us;
    for (const NameState& name : names_) {
      const Stamp floor = name.floor();
      grant.floors.push_back(floor ? floor : grant.stamp);
    }
    if (attempt_.ticket) remove_waiter(transaction_, attempt_.ticket->waiter);
    wake_others();
    return {std::move(grant)};
  }

  AttemptResult grant_again(const TokenHold& granted) {
    Grant grant;
    grant.stamp = granted.stamp;
    grant.lease = lease_until(granted.ends_us);
    grant.store_time_us = transaction_.now_us;
    for (const NameState& name : names_) grant.floors.push_back(name.floor());
    if (attempt_.ticket) remove_waiter(transaction_, attempt_.ticket->waiter);
    wake_others();
    return {std::move(grant)};
  }

  [[nodiscard]] Duration lease_until(std::optional<std::int64_t> ends_us) const {
    return ends_us ? Duration(microseconds(*ends_us - transaction_.now_us)) : Duration::max();
  }

  // Wakes the waiters for which this grant still leaves room.
  void wake_others() {
    for (const LockRequest& freed : freed_) {
      const auto items = request_.set->items();
      const bool taken = std::any_of(items.begin(), items.end(), [&](const LockRequest& mine) {
        return mine.name == freed.name;
      });
      if (!taken) wake_next(transaction_, freed.name);
    }
    if (!attempt_.ticket && freed_.empty() && request_.replaces == nullptr) return;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const Group& mine = item(i).mode == Mode::read ? names_[i].reads : names_[i].writes;
      if (mine.count + 1 < request_.permits[i]) {
        wake_next(transaction_, item(i).name, 0, item(i).mode);
      }
    }
  }

  AttemptResult busy() {
    AttemptResult result{kept_.empty() ? describe() : describe_kept()};
    wake_for(transaction_, freed_);
    if (!request_.will_wait) return result;
    wait_in_line(result);
    watch(result);
    // Releases come after this transaction, and wake only once they have ended. So this value
    // contains none that could still matter.
    result.slot_value = slots_.value(WakeSlots::slot_of(result.waiter));
    return result;
  }

  [[nodiscard]] Busy describe() {
    Busy busy;
    std::optional<std::int64_t> first_end_us;
    const auto in_the_way = [&](const LockRequest& wanted, Mode mode, const Group& group) {
      if (!busy.holder) {
        busy.name = wanted.name;
        busy.mode = mode;
        busy.holder = group.lowest;
      }
      if (group.first_end_us) {
        first_end_us = std::min(*group.first_end_us, first_end_us.value_or(*group.first_end_us));
      }
    };
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (verdicts_[i].writes_block) in_the_way(item(i), Mode::write, names_[i].writes);
      if (verdicts_[i].reads_block) in_the_way(item(i), Mode::read, names_[i].reads);
    }
    busy.holder_label = label_of(transaction_, busy.holder);
    if (first_end_us) busy.retry_after = microseconds(*first_end_us - transaction_.now_us);
    return busy;
  }

  // One waiter for each name is enough: it wakes the next.
  void watch(AttemptResult& result) {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (!verdicts_[i].blocked() || !is_first_in_line(transaction_, item(i).name, result.waiter)) {
        continue;
      }
      const std::vector<Life> lives = lives_of(transaction_, item(i).name);
      result.watched.insert(result.watched.end(), lives.begin(), lives.end());
    }
  }

  [[nodiscard]] Busy describe_kept() {
    Busy busy;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (!verdicts_[i].blocked() || kept_[i].waiter == 0) continue;
      busy.name = item(i).name;
      busy.mode = verdicts_[i].writes_block ? Mode::write : Mode::read;
      busy.holder_label = "the queue, for " + kept_[i].label;
      busy.retry_after = microseconds(kept_[i].counts_until_us - transaction_.now_us);
      if (kept_[i].to_prod) wake_waiter(transaction_, kept_[i].waiter);
      break;
    }
    return busy;
  }

  void wait_in_line(AttemptResult& result) {
    std::optional<WaiterState> state;
    if (attempt_.ticket) state = find_waiter(transaction_, attempt_.ticket->waiter);
    if (!state) {
      result.waiter = add_waiter(transaction_, *request_.set, *request_.owner);
      return;
    }
    result.waiter = attempt_.ticket->waiter;
    if (needs_refresh(transaction_, *state)) refresh_waiter(transaction_, result.waiter);
    if (!state->woken) return;
    if (attempt_.may_linger) {
      result.lingers = true;
      return;
    }
    clear_woken(transaction_, result.waiter);
    pass_on(result.waiter, state->overtaken >= request_.max_overtakes);
  }

  // What woke this waiter may be enough for one behind it. A name that blocks it in its own mode
  // blocks those too, and the release of that holder wakes the line again from its head. A name
  // that only the other mode blocks may admit more of that mode. If names are kept for this
  // waiter, it counts as a hold.
  void pass_on(std::int64_t waiter, bool keeps) {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const Mode other = item(i).mode == Mode::read ? Mode::write : Mode::read;
      const bool own_blocks =
          other == Mode::write ? verdicts_[i].reads_block : verdicts_[i].writes_block;
      if (!verdicts_[i].blocked()) {
        const Group& mine = item(i).mode == Mode::read ? names_[i].reads : names_[i].writes;
        if (!keeps) {
          wake_next(transaction_, item(i).name, waiter);
        } else if (mine.count + 1 < request_.permits[i]) {
          wake_next(transaction_, item(i).name, waiter, item(i).mode);
        }
      } else if (!own_blocks) {
        wake_next(transaction_, item(i).name, waiter, other);
      }
    }
  }

  Transaction& transaction_;
  const Attempt& attempt_;
  const AcquireRequest& request_;
  const WakeSlots& slots_;
  SpaceRow space_;
  std::vector<NameState> names_;
  std::vector<Stamp> expired_;
  std::vector<LockRequest> freed_;
  std::vector<Verdict> verdicts_;
  std::vector<Kept> kept_;  // empty: holds are in the way
};

}  // namespace

AttemptResult attempt(Transaction& transaction, const Attempt& attempt, const WakeSlots& slots) {
  return Step(transaction, attempt, slots).run();
}

}  // namespace lockset::sqlite
