#include "lockset/patterns/reentrant.h"

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "core/fork_guard.h"
#include "core/time_math.h"
#include "core/wait_until.h"
#include "patterns/thread_number.h"

namespace lockset {

ReentrantOwner ReentrantOwner::this_thread() noexcept { return ReentrantOwner(thread_number()); }

ReentrantOwner ReentrantOwner::make() noexcept { return ReentrantOwner(new_owner_number()); }

// One hold of an owner, or a call that is asking for it. The state's mutex protects all but `hold`,
// which is set before the first count exists and changes only with the last one.
struct ReentrantEntry {
  LockSet set;
  ReentrantOwner owner;
  bool asking = true;
  std::size_t counts = 0;
  Hold hold{};
};

namespace {

using Asking = std::function<Result<std::optional<Hold>>(Duration left)>;

const LockRequest* find(const LockSet& set, std::string_view name) {
  const auto items = set.items();
  const auto at = std::ranges::lower_bound(items, name, {}, &LockRequest::name);
  return at != items.end() && at->name == name ? &*at : nullptr;
}

// What `held` has of `wanted`.
struct Overlap {
  const LockRequest* first = nullptr;     // a name that both have
  const LockRequest* missing = nullptr;   // a name that `held` lacks
  const LockRequest* stronger = nullptr;  // a write where `held` has a read
};

Overlap overlap(const LockSet& held, const LockSet& wanted) {
  Overlap found;
  for (const LockRequest& item : wanted.items()) {
    const LockRequest* mine = find(held, item.name);
    if (mine == nullptr) {
      found.missing = &item;
      continue;
    }
    if (found.first == nullptr) found.first = &item;
    if (mine->mode == Mode::read && item.mode == Mode::write) found.stronger = &item;
  }
  return found;
}

Error waits_for_itself(const Hold& hold, const Overlap& found) {
  const std::string stamp = " (stamp " + std::to_string(hold.stamp().value) + ")";
  const std::string remedy = ": it would wait for itself; ask for all at once, before the first";
  if (found.stronger != nullptr) {
    return {Errc::invalid, "this owner holds " + in_quotes(found.stronger->name) + " as read" +
                               stamp + " and asks for it as write" + remedy};
  }
  return {Errc::invalid, "this owner holds " + in_quotes(found.first->name) + stamp + " but not " +
                             in_quotes(found.missing->name) +
                             " in the same hold, and asks for both" + remedy};
}

Error lost_hold(const Hold& hold, std::string_view name) {
  const LostReason reason = hold.lost_reason();
  const std::string_view why =
      reason == LostReason::not_lost ? "its Locks was destroyed" : to_string(reason);
  return {Errc::not_held, "this owner's hold on " + in_quotes(name) + " (stamp " +
                              std::to_string(hold.stamp().value) + ") was lost: " +
                              std::string(why) + "; release it before you ask again"};
}

Error has_it_already(const Hold& hold) {
  return {Errc::invalid, "this owner holds the set (stamp " + std::to_string(hold.stamp().value) +
                             "), so it can't take it on a condition: validate the observation"};
}

Error holds_nothing_here() {
  return {Errc::not_held, "this ReentrantHold holds nothing: released already, or moved from"};
}

Error in_child_of_fork() {
  return {Errc::invalid, "this ReentrantLocks belongs to the parent process: open the space anew"};
}

}  // namespace

class ReentrantState : public std::enable_shared_from_this<ReentrantState> {
 public:
  [[nodiscard]] bool in_child() const noexcept { return fork_guard_.in_child(); }

  // An empty optional: busy. `until`: unset for a single try. `conditional`: the store is to decide
  // something else besides.
  Result<std::optional<ReentrantHold>> take(const LockSet& set, ReentrantOwner owner,
                                            std::optional<TimePoint> until, bool conditional,
                                            const std::stop_token& stop, const Asking& ask) {
    if (in_child()) return in_child_of_fork();
    std::unique_lock lock(mutex_);
    Look look = look_at(set, owner);
    if (look.asking && !until) return std::optional<ReentrantHold>();
    if (look.asking) {
      const bool settled = wait_until(changed_, lock, stop, *until, [&] {
        look = look_at(set, owner);
        return !look.asking;
      });
      if (!settled) {
        return Error{stop.stop_requested() ? Errc::cancelled : Errc::timeout,
                     "the wait ended while another call of the same owner was asking for " +
                         in_quotes(set.items().front().name)};
      }
    }
    if (look.refusal) return std::move(*look.refusal);
    if (look.same && conditional) return has_it_already(look.same->hold);
    if (look.same) return std::optional(count(std::move(look.same)));
    const auto entry = std::make_shared<ReentrantEntry>(ReentrantEntry{.set = set, .owner = owner});
    entries_[owner].push_back(entry);
    lock.unlock();
    // Whatever happens, an exception as well, those who wait for this call learn of it.
    struct Settle {
      ReentrantState& state;
      const std::shared_ptr<ReentrantEntry>& entry;
      ~Settle() { state.settle(entry); }
    } settle{*this, entry};
    Result<std::optional<Hold>> hold = ask(
        until && *until != TimePoint::max() ? std::max(Duration::zero(), *until - BootClock::now())
                                            : forever);
    if (!hold) return std::move(hold).error();
    if (!*hold) return std::optional<ReentrantHold>();
    entry->hold = std::move(**hold);
    return std::optional(ReentrantHold(shared_from_this(), entry));
  }

  Status give_back(const std::shared_ptr<ReentrantEntry>& entry) {
    if (in_child()) {
      return Error{Errc::not_held, "stamp " + std::to_string(entry->hold.stamp().value) +
                                       " is held by the parent process, not by this one"};
    }
    {
      const std::lock_guard lock(mutex_);
      if (--entry->counts > 0) {
        if (entry->hold.valid()) return {};
        return lost_hold(entry->hold, entry->set.items().front().name);
      }
      forget(entry);
    }
    return entry->hold.release();
  }

  std::size_t counts(const ReentrantEntry& entry) {
    if (in_child()) return 0;
    const std::lock_guard lock(mutex_);
    return entry.counts;
  }

 private:
  struct Look {
    std::shared_ptr<ReentrantEntry> same{};
    std::optional<Error> refusal{};
    bool asking = false;
  };

  // REQUIRES: mutex_.
  Look look_at(const LockSet& set, ReentrantOwner owner) {
    Look look;
    const auto mine = entries_.find(owner);
    if (mine == entries_.end()) return look;
    for (const std::shared_ptr<ReentrantEntry>& entry : mine->second) {
      const Overlap found = overlap(entry->set, set);
      if (found.first == nullptr) continue;
      if (entry->asking) {
        look.asking = true;
      } else if (!entry->hold.valid()) {
        return {.refusal = lost_hold(entry->hold, found.first->name)};
      } else if (found.missing != nullptr || found.stronger != nullptr) {
        return {.refusal = waits_for_itself(entry->hold, found)};
      } else {
        look.same = entry;
      }
    }
    return look;
  }

  // REQUIRES: mutex_.
  ReentrantHold count(std::shared_ptr<ReentrantEntry> entry) {
    ++entry->counts;
    return {shared_from_this(), std::move(entry)};
  }

  // The call that made the entry has its answer.
  void settle(const std::shared_ptr<ReentrantEntry>& entry) {
    const std::lock_guard lock(mutex_);
    entry->asking = false;
    if (entry->hold.stamp()) {
      ++entry->counts;  // of the handle that the call returns
    } else {
      forget(entry);
    }
    changed_.notify_all();
  }

  // REQUIRES: mutex_.
  void forget(const std::shared_ptr<ReentrantEntry>& entry) {
    const auto mine = entries_.find(entry->owner);
    std::erase(mine->second, entry);
    if (mine->second.empty()) entries_.erase(mine);
  }

  const ForkGuard fork_guard_;
  std::mutex mutex_;
  std::condition_variable_any changed_;  // an entry is not asking any more
  std::map<ReentrantOwner, std::vector<std::shared_ptr<ReentrantEntry>>> entries_;
};

ReentrantHold::ReentrantHold(std::shared_ptr<ReentrantState> state,
                             std::shared_ptr<ReentrantEntry> entry) noexcept
    : state_(std::move(state)), entry_(std::move(entry)) {}

ReentrantHold& ReentrantHold::operator=(ReentrantHold&& other) noexcept {
  if (this != &other) {
    ReentrantHold old(std::move(*this));  // releases at the end of the scope
    state_ = std::move(other.state_);
    entry_ = std::move(other.entry_);
  }
  return *this;
}

ReentrantHold::~ReentrantHold() {
  if (entry_) static_cast<void>(release().ok());
}

const Hold& ReentrantHold::hold() const noexcept {
  static const Hold nothing;
  return entry_ ? entry_->hold : nothing;
}

std::size_t ReentrantHold::count() const noexcept { return entry_ ? state_->counts(*entry_) : 0; }

Status ReentrantHold::renew() { return entry_ ? entry_->hold.renew() : holds_nothing_here(); }

Status ReentrantHold::release() {
  if (!entry_) return holds_nothing_here();
  const std::shared_ptr<ReentrantState> state = std::move(state_);
  const std::shared_ptr<ReentrantEntry> entry = std::move(entry_);
  return state->give_back(entry);
}

ReentrantLocks::ReentrantLocks(Locks& locks)
    : locks_(&locks), state_(std::make_shared<ReentrantState>()) {}

Result<ReentrantHold> ReentrantLocks::acquire(std::vector<LockRequest> wanted,
                                              const AcquireOptions& options, ReentrantOwner owner) {
  Result<LockSet> set = LockSet::make(std::move(wanted));
  if (!set) return std::move(set).error();
  const TimePoint until = later(BootClock::now(), options.wait);
  auto taken = state_->take(*set, owner, until, options.unchanged_since.has_value(), options.stop,
                            [&](Duration left) -> Result<std::optional<Hold>> {
                              AcquireOptions rest = options;
                              rest.wait = left;
                              Result<Hold> hold = locks_->acquire(*set, rest);
                              if (!hold) return std::move(hold).error();
                              return std::optional(std::move(*hold));
                            });
  if (!taken) return std::move(taken).error();
  return std::move(**taken);
}

Tried<std::optional<ReentrantHold>> ReentrantLocks::try_acquire(std::vector<LockRequest> wanted,
                                                                const TryOptions& options,
                                                                ReentrantOwner owner) {
  Result<LockSet> set = LockSet::make(std::move(wanted));
  if (!set) return std::move(set).error();
  auto taken = state_->take(
      *set, owner, std::nullopt, options.unchanged_since.has_value(), {},
      [&](Duration) -> Result<std::optional<Hold>> { return locks_->try_acquire(*set, options); });
  if (!taken) return std::move(taken).error();
  return std::move(*taken);
}

}  // namespace lockset
