// A session with a server that carries holds: they are the server's own locks, which it frees when
// the session ends (strategy=session).
#pragma once

#include <cstdint>
#include <span>

#include "lockset/clock.h"

namespace lockset::server {

// The server's lock of one or more names.
struct LockKey {
  std::int64_t key = 0;
  bool shared = false;
};

// Used by one thread at a time, except where it says otherwise.
class Carrier {
 public:
  enum class Outcome {
    answered,
    late,    // no answer yet: it is still to come
    broken,  // the session is over, or about to be: close it
  };

  Carrier() = default;
  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;
  virtual ~Carrier() = default;

  // How the last call ended.
  [[nodiscard]] virtual Outcome outcome() const noexcept = 0;
  // An answer is still to come.
  [[nodiscard]] virtual bool owes() const noexcept = 0;
  // Receives the answer that is owed, if one is. False: not by `by`.
  virtual bool settle(TimePoint by) = 0;
  // Unlocks what this session holds. False: it is not known whether that was done.
  virtual bool unlock(std::span<const LockKey> keys, TimePoint by) = 0;
  // Makes the server end the session when it has heard nothing over it for that long, and no
  // earlier. False: it is not known whether that was done.
  virtual bool end_after(Duration silence, TimePoint by) = 0;

  // Asks only the kernel. Thread-safe.
  [[nodiscard]] virtual bool hung_up() const noexcept = 0;
  [[nodiscard]] virtual int fd() const noexcept = 0;
  // Makes it broken, and leaves it open: what it holds is free as soon as the server hears of its
  // end, and their holders have to be told before.
  virtual void give_up() noexcept = 0;
};

}  // namespace lockset::server
