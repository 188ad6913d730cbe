// The side file PATH-gate: words in shared memory on which processes sleep and wake each other, and
// byte ranges to lock. Nothing in it decides who holds what: if it is lost or damaged, waiting gets
// slower, the holds of dead processes end with their leases, and nothing else happens.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "lockset/clock.h"
#include "lockset/error.h"

namespace lockset::sqlite {

// Thread-safe, and safe between processes.
class SideFile {
 public:
  static constexpr std::size_t words = 2048;

  // Opens or makes the side file of the database, with the database's permissions.
  // Errc::misconfigured or Errc::unavailable, in one line, if that fails.
  static Result<std::unique_ptr<SideFile>> open(const std::string& database);

  SideFile(const SideFile&) = delete;
  SideFile& operator=(const SideFile&) = delete;
  ~SideFile();

  [[nodiscard]] std::atomic_ref<std::uint32_t> word(std::size_t index) const noexcept {
    return std::atomic_ref<std::uint32_t>(memory_[index]);
  }

  // Sleeps while the word has this value, for at most `most`; may return early.
  void sleep_on(std::size_t index, std::uint32_t value, Duration most) const noexcept;
  // Wakes up to `count` sleepers of all processes, in the order in which they came.
  void wake(std::size_t index, int count) const noexcept;

  // Locks or unlocks one byte for this SideFile, without waiting. The kernel releases the locks of
  // a process that dies. False if somebody else has the lock, or if the file system can't lock.
  [[nodiscard]] bool try_lock(std::int64_t byte) const noexcept;
  void unlock(std::int64_t byte) const noexcept;
  // Another SideFile, of any process, has the lock. Also true if that can't be told.
  [[nodiscard]] bool is_locked(std::int64_t byte) const noexcept;

  // Identifies the file itself, whatever its name: no other file has this number while this one is
  // open. 0 if it can't be told.
  [[nodiscard]] std::int64_t identity() const noexcept;

 private:
  SideFile(int fd, std::uint32_t* memory) : fd_(fd), memory_(memory) {}

  int fd_;
  std::uint32_t* memory_;
};

}  // namespace lockset::sqlite
