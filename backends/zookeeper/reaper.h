// Ends the holds that nobody renewed: one thread, which sleeps until a deadline comes.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "backends/zookeeper/store.h"
#include "core/machine.h"

namespace lockset::zookeeper {

// Thread-safe.
class Reaper {
 public:
  explicit Reaper(OpenSpace& space);
  Reaper(const Reaper&) = delete;
  Reaper& operator=(const Reaper&) = delete;
  ~Reaper();

  // Its thread, before anything is asked for that it may have to remove. Errc::unavailable if there
  // is none to be had.
  Status start();
  // Removes, now and on this thread, what is past its deadline; what can't be removed now
  // is left to the thread.
  void run(TimePoint by);
  // Removes this one, which has expired. Errc::unavailable: not done.
  Status remove(const std::shared_ptr<OwnHold>& hold, TimePoint by);
  // How many holds were removed since the last call.
  std::size_t take_count();

 private:
  using Holds = std::vector<std::shared_ptr<OwnHold>>;
  void ring(TimePoint deadline);
  void loop();
  // Those that are left.
  Holds remove_all(Holds holds, TimePoint by);
  Holds remove_some(Session& session, Holds holds, TimePoint by);
  // Nobody hears of these, which are of one session.
  bool give_up(const Holds& holds);

  OpenSpace& space_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Holds left_;  // expired, and still in the store perhaps
  std::size_t removed_ = 0;
  // When the thread looks again by itself: those who come later need not wake it.
  TimePoint sleeps_until_ = TimePoint::max();
  bool rung_ = false;
  bool ending_ = false;
  Thread thread_;
};

}  // namespace lockset::zookeeper
