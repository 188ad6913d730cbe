// Which holds of the two stores form one hold of a client, as far as this process has to know.
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
  // The phase in which it was taken. It decides in which stores the hold has to be, and which part
  // decides.
  MigrationPhase phase = MigrationPhase::old_only;
  Stamp in_old = {};  // 0: none
  Stamp in_new = {};
  // When its lease ends if it is not renewed.
  TimePoint until = TimePoint::max();

  // Somebody is ending it, or tried to.
  bool ending = false;
  // What is known about an end that was not fully confirmed: the retry must not undo an earlier
  // step.
  bool old_ended = false;
  bool new_ended = false;
  bool ended_here = false;  // this process ended the part that decides

  // The stamp by which clients know it: the stamp of the part that decides.
  [[nodiscard]] Stamp stamp() const noexcept {
    return phase >= MigrationPhase::dual_new ? in_new : in_old;
  }
};

class PartsBook {
 public:
  // `app`: the application, if this is a hold on its id (semantics 12); empty: an ordinary hold.
  void note(const Parts& parts, const std::string& app);
  [[nodiscard]] std::optional<Parts> find(Stamp stamp) const;
  // The hold on an application's id with this epoch as its stamp, even if it has ended.
  [[nodiscard]] std::optional<Parts> epoch(Stamp stamp) const;
  // The last hold that this process took on the application's id.
  [[nodiscard]] std::optional<Parts> application(const std::string& app) const;
  // If the part in the old (new) store belongs to a hold on an application's id: the stamp by which
  // clients know that hold. Otherwise `part` itself. An epoch is such a stamp.
  [[nodiscard]] Stamp epoch_of_old(Stamp part) const;
  [[nodiscard]] Stamp epoch_of_new(Stamp part) const;
  // Applies `change` to the entry, if it exists.
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
