// What this client knows about holds and attempts besides the store: the names of a hold, whose
// keys a script has to declare, and everything for registering the hold again if the store has lost
// it. Forgetting it costs one look-up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "lockset/clock.h"
#include "lockset/inspection.h"
#include "lockset/lock_set.h"
#include "lockset/stamp.h"

namespace lockset::redis {

struct KnownHold {
  std::vector<LockRequest> items;
  Owner owner;
  Token token;
  std::int64_t since_us = 0;  // by the server's time
};

// Thread-safe.
class KnownHolds {
 public:
  // `until`: the end of its lease, counted from before the store began to count.
  void add(Stamp stamp, std::shared_ptr<const KnownHold> hold, TimePoint until) {
    const std::lock_guard lock(mutex_);
    // Holds that don't end by our release stay here: drop the oldest.
    if (holds_.size() >= most_holds) forget(holds_.begin());
    by_token_[hold->token] = stamp;
    holds_.insert_or_assign(stamp, Entry{std::move(hold), until});
  }
  void renewed(Stamp stamp, TimePoint until) {
    const std::lock_guard lock(mutex_);
    const auto found = holds_.find(stamp);
    if (found != holds_.end() && found->second.until < until) found->second.until = until;
  }
  // True if it was known and its lease has not ended.
  bool remove(Stamp stamp) {
    const std::lock_guard lock(mutex_);
    const auto found = holds_.find(stamp);
    if (found == holds_.end()) return false;
    const bool live = BootClock::now() < found->second.until;
    forget(found);
    return live;
  }
  // Null if it is not known.
  [[nodiscard]] std::shared_ptr<const KnownHold> find(Stamp stamp) const {
    const std::lock_guard lock(mutex_);
    const auto found = holds_.find(stamp);
    return found == holds_.end() ? nullptr : found->second.hold;
  }
  // The same, only if its lease has not ended.
  [[nodiscard]] std::shared_ptr<const KnownHold> find_live(Stamp stamp) const {
    const std::lock_guard lock(mutex_);
    const auto found = holds_.find(stamp);
    if (found == holds_.end() || BootClock::now() >= found->second.until) return nullptr;
    return found->second.hold;
  }

  // An attempt whose answer was lost.
  void add_doubt(std::shared_ptr<const KnownHold> attempt) {
    const std::lock_guard lock(mutex_);
    if (doubts_.size() >= most_doubts) doubts_.pop_front();
    doubts_.push_back(std::move(attempt));
  }
  // The hold or the attempt with this token; null if it is not known.
  [[nodiscard]] std::shared_ptr<const KnownHold> find(const Token& token) const {
    const std::lock_guard lock(mutex_);
    if (const auto stamp = by_token_.find(token); stamp != by_token_.end()) {
      return holds_.at(stamp->second).hold;
    }
    for (auto doubt = doubts_.rbegin(); doubt != doubts_.rend(); ++doubt) {
      if ((*doubt)->token == token) return *doubt;
    }
    return nullptr;
  }

 private:
  static constexpr std::size_t most_holds = 200'000;
  static constexpr std::size_t most_doubts = 4096;

  struct Entry {
    std::shared_ptr<const KnownHold> hold;
    TimePoint until;
  };
  void forget(std::map<Stamp, Entry>::iterator entry) {
    by_token_.erase(entry->second.hold->token);
    holds_.erase(entry);
  }

  mutable std::mutex mutex_;
  std::map<Stamp, Entry> holds_;
  std::map<Token, Stamp> by_token_;
  std::deque<std::shared_ptr<const KnownHold>> doubts_;
};

}  // namespace lockset::redis
