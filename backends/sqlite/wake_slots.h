// Where waiters sleep until a release wakes them: words of the side file, one per waiter. If there
// are more waiters than words, waiters with the same word wake together.
#pragma once

#include <climits>
#include <cstdint>
#include <memory>

#include "backends/sqlite/file_gate.h"
#include "backends/sqlite/side_file.h"

namespace lockset::sqlite {

// Thread-safe, and safe between processes.
class WakeSlots {
 public:
  static constexpr std::uint32_t count = 1024;
  static_assert(FileGate::words_used + count <= SideFile::words);

  // REQUIRES: `file` outlives the slots, and contains a file before their first use.
  explicit WakeSlots(const std::unique_ptr<SideFile>& file) : file_(file) {}

  static std::uint32_t slot_of(std::int64_t waiter) noexcept {
    return static_cast<std::uint32_t>(waiter % count);
  }

  // The value to sleep on: read it before the look whose busy answer becomes final.
  [[nodiscard]] std::uint32_t value(std::uint32_t slot) const noexcept {
    return file_->word(index(slot)).load();
  }
  // Returns at once if the slot was woken since the value was read.
  void sleep(std::uint32_t slot, std::uint32_t value, Duration most) const noexcept {
    file_->sleep_on(index(slot), value, most);
  }
  void wake(std::uint32_t slot) const noexcept {
    ++file_->word(index(slot));
    file_->wake(index(slot), INT_MAX);
  }

 private:
  static std::size_t index(std::uint32_t slot) noexcept { return FileGate::words_used + slot; }

  const std::unique_ptr<SideFile>& file_;
};

}  // namespace lockset::sqlite
