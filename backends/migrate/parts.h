// Which holds of the two stores make up one hold of a client, as long as this process has to know.
//
// Thread-safe.
#pragma once

#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "backends/migrate/hold_tag.h"
#include "lockset/clock.h"

namespace lockset::migrate {

struct Parts {
  // In which it was taken. It says where the hold has to stand, and which part decides.
  MigrationPhase phase = MigrationPhase::old_only;
  Stamp in_old = {};  // 0: none
  Stamp in_new = {};
  // When its lease ends if nobody renews it.
  TimePoint until = TimePoint::max();

  // Somebody ends it, or tried to.
  bool ending = false;
  // What is known of an end that was not confirmed whole: the retry must not take back what was
  // done before.
  bool old_ended = false;
  bool new_ended = false;
  bool ended_here = false;  // this process ended the part that decides

  // The stamp by which clients know it: that of the part that decides.
  [[nodiscard]] Stamp stamp() const noexcept {
    return phase >= MigrationPhase::dual_new ? in_new : in_old;
  }
};

class PartsBook {
 public:
  // `app`: the application on whose id it is a hold (semantics 12); empty: an ordinary one.
  void note(const Parts& parts, const std::string& app);
  [[nodiscard]] std::optional<Parts> find(Stamp stamp) const;
  // The hold on an application's id whose stamp is this epoch, also when it has ended.
  [[nodiscard]] std::optional<Parts> epoch(Stamp stamp) const;
  // The last hold that this process took on the id of the application.
  [[nodiscard]] std::optional<Parts> application(const std::string& app) const;
  // The stamp by which clients know the hold of which this is the part in the old (new) store, if
  // it is one on an application's id; otherwise `part` itself. An epoch is such a stamp.
  [[nodiscard]] Stamp epoch_of_old(Stamp part) const;
  [[nodiscard]] Stamp epoch_of_new(Stamp part) const;
  // Applies `change` to the entry, if it is there.
  template <class Change>
  void update(Stamp stamp, Change&& change) {
    const std::lock_guard lock(mutex_);
    const auto at = parts_.find(stamp);
    if (at != parts_.end()) change(at->second);
  }
  void forget(Stamp stamp);

 private:
  void prune();

  mutable std::mutex mutex_;
  std::unordered_map<Stamp, Parts> parts_;
  std::size_t prune_at_ = 1024;
  std::deque<std::pair<std::string, Parts>> applications_;  // the last few, newest first
};

}  // namespace lockset::migrate
