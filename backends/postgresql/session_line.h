// The place of one starving waiter (strategy=session).
//
// The server queues for one key at a time. So a set can be beaten again and again by clients that
// take its names one by one. A waiter that was beaten often asks for the place: its client takes
// the advisory lock of the line, and tells all clients by NOTIFY what the waiter wants. Whoever
// comes for that now waits for the line's lock first. Nothing of the set is held meanwhile, and
// nobody asks for the line's lock unless such a notice is fresh.
//
// The lock belongs to the connection over which the client listens, so it ends with its client. It
// is kept for `lasts` at most: a waiter whose names are held for long does not stop the others.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/postgresql/session.h"
#include "lockset/clock.h"

namespace lockset::postgresql {

// Thread-safe.
class SessionLine {
 public:
  static constexpr Duration lasts = std::chrono::seconds(1);

  // --- the client of the waiter ---
  // False: another waiter of this client has the place, or has asked for it.
  bool ask(const void* waiter, std::span<const LockKey> wanted);
  // Whether it has the place, or has asked for it.
  [[nodiscard]] bool is_for(const void* waiter);
  // True: the watcher has to give the lock back.
  bool leave(const void* waiter);

  // --- the watcher of that client, which has the connection ---
  // The notice of a waiter for which the lock has to be taken now; "": none.
  [[nodiscard]] std::string to_take();
  [[nodiscard]] bool to_give_back(TimePoint now);
  void taken(bool done, TimePoint now);
  void given_back();
  // When the watcher has to look again.
  [[nodiscard]] TimePoint due();

  // --- every client ---
  void heard(std::string_view notice, TimePoint now);
  struct Notice {
    LockKey key;
    TimePoint lapses;
  };
  // The notice that stands before these keys, with the first of them. Unset: none does. Costs
  // nothing without a notice.
  [[nodiscard]] std::optional<Notice> before(std::span<const LockKey> keys, TimePoint now);
  // The line's lock was free after that notice: it is over.
  void passed();

 private:
  std::atomic<bool> any_notice_{false};
  std::mutex mutex_;
  // Guarded by mutex_.
  const void* waiter_ = nullptr;
  std::string wanted_;  // not yet taken
  bool held_ = false;
  TimePoint until_{};
  std::vector<LockKey> notice_;
  TimePoint lapses_{};
};

// "line 12 13s": these keys, the second one shared.
inline constexpr std::string_view line_notice = "line";

}  // namespace lockset::postgresql
