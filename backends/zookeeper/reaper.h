// Ends the holds that nobody renewed: one thread, which sleeps until the next deadline.
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

  // Starts its thread; call it before any request that it may have to remove. Errc::unavailable if
  // no thread can be started.
  Status start();
  // Removes, now and on the calling thread, everything that is past its deadline; what can't be
  // removed now is left to the thread.
  void run(TimePoint by);
  // Removes this hold, which has expired. Errc::unavailable: not done.
  Status remove(const std::shared_ptr<OwnHold>& hold, TimePoint by);
  // How many holds were removed since the last call.
  std::size_t take_count();

 private:
  using Holds = std::vector<std::shared_ptr<OwnHold>>;
  void ring(TimePoint deadline);
  void loop();
  // Returns those that are left.
  Holds remove_all(Holds holds, TimePoint by);
  Holds remove_some(Session& session, Holds holds, TimePoint by);
  // Drops these, which belong to one session, if the session can't be reached any more: the session
  // is forgotten, and expires. False: they still have to be removed.
  bool give_up(const Holds& holds);

  OpenSpace& space_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Holds left_;  // expired, and perhaps still in the store
  std::size_t removed_ = 0;
  // When the thread looks again on its own: later deadlines need not wake it.
  TimePoint sleeps_until_ = TimePoint::max();
  bool rung_ = false;
  bool ending_ = false;
  Thread thread_;
};

}  // namespace lockset::zookeeper
