// The clocks by which the SQLite store judges leases and draws stamps.
#pragma once

#include <cstdint>
#include <string>

namespace lockset::sqlite {

// Thread-safe: constant after make().
class StoreClock {
 public:
  // Reads the values that never change while a process lives.
  static StoreClock make();

  // Microseconds since the boot of the host, suspends included: one clock for all processes of the
  // host, which no setting of the wall clock moves. A container with its own time namespace sees
  // another CLOCK_BOOTTIME; this function subtracts its offset.
  [[nodiscard]] std::int64_t now_us() const noexcept;

  // Identifies this boot of this host; readings of different boots can't be compared.
  [[nodiscard]] const std::string& boot_id() const noexcept { return boot_id_; }

  // False: nobody can say whether two boots are the same.
  [[nodiscard]] bool knows_boot() const noexcept;

  // Microseconds since 1970: for stamps, for people, and to convert holds after a reboot.
  [[nodiscard]] static std::int64_t wall_us() noexcept;

 private:
  std::string boot_id_;
  std::int64_t offset_us_ = 0;
};

}  // namespace lockset::sqlite
