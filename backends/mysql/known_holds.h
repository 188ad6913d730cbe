// What this client knows about holds and attempts besides the store: the name whose row contains
// the lease. That saves a look-up; forgetting it costs only that look-up.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "lockset/stamp.h"

namespace lockset::mysql {

// Thread-safe.
class KnownHolds {
 public:
  struct Place {
    std::string name;       // the name of item 0
    std::size_t items = 1;  // the size of the set
  };

  void add(Stamp stamp, Place place) {
    const std::lock_guard lock(mutex_);
    // Holds that don't end by our release stay here: drop the oldest.
    if (holds_.size() >= most_holds) holds_.erase(holds_.begin());
    holds_.insert_or_assign(stamp, std::move(place));
  }
  void remove(Stamp stamp) {
    const std::lock_guard lock(mutex_);
    holds_.erase(stamp);
  }
  [[nodiscard]] std::optional<Place> find(Stamp stamp) const {
    const std::lock_guard lock(mutex_);
    const auto found = holds_.find(stamp);
    return found == holds_.end() ? std::nullopt : std::optional(found->second);
  }

  // Attempts whose answer was lost.
  void add_doubt(const Token& token, Place place) {
    const std::lock_guard lock(mutex_);
    if (doubts_.size() >= most_doubts) doubts_.pop_front();
    doubts_.emplace_back(token, std::move(place));
  }
  [[nodiscard]] std::optional<Place> find_doubt(const Token& token) const {
    const std::lock_guard lock(mutex_);
    for (auto doubt = doubts_.rbegin(); doubt != doubts_.rend(); ++doubt) {
      if (doubt->first == token) return doubt->second;
    }
    return {};
  }

 private:
  static constexpr std::size_t most_holds = 200'000;
  static constexpr std::size_t most_doubts = 4096;

  mutable std::mutex mutex_;
  std::map<Stamp, Place> holds_;
  std::list<std::pair<Token, Place>> doubts_;
};

}  // namespace lockset::mysql
