// Parts in the old store that were given back, and the traces that they left there.
//
// In dual-old the old store decides whether a condition is met, and the new one may say no after
// that. Then the part in the old store is given back unused, but it was a write grant: without this
// note, the client's next attempt would be refused because of its own.
//
// Thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "lockset/backend.h"

namespace lockset::migrate {

class GivenBack {
 public:
  // The part `stamp` of this request was granted on its condition, and nobody used it.
  void note(const AcquireRequest& request, Stamp stamp) {
    const std::lock_guard lock(mutex_);
    // What is forgotten counts as changed.
    if (same_.size() >= most) same_.clear();
    for (const Expected& each : request.unchanged_since) {
      const LockRequest& item = request.set->items()[each.item];
      if (item.mode == Mode::write) same_[item.name] = {each.last_write, stamp};
    }
  }
  // The request's condition, by what stands in the old store for it.
  [[nodiscard]] std::vector<Expected> condition(const AcquireRequest& request) const {
    std::vector<Expected> condition(request.unchanged_since.begin(), request.unchanged_since.end());
    const std::lock_guard lock(mutex_);
    for (Expected& each : condition) {
      const auto same = same_.find(request.set->items()[each.item].name);
      if (same != same_.end() && same->second.seen == each.last_write) {
        each.last_write = same->second.in_store;
      }
    }
    return condition;
  }
  // The inverse, for an observation.
  void restore(const std::string& name, Trace& trace) const {
    const std::lock_guard lock(mutex_);
    const auto same = same_.find(name);
    if (same != same_.end() && same->second.in_store == trace.last_write) {
      trace.last_write = same->second.seen;
    }
  }

 private:
  static constexpr std::size_t most = 1000;
  struct Same {
    Stamp seen;      // by clients
    Stamp in_store;  // the same content
  };
  mutable std::mutex mutex_;
  std::map<std::string, Same> same_;
};

}  // namespace lockset::migrate
