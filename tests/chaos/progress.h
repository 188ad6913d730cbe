// The progress of a run for people: a line now and then on standard error, and every event in a
// file.
#pragma once

#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>

#include "lockset/clock.h"

namespace lockset::chaos {

// Thread-safe.
class Progress {
 public:
  // On a terminal the line is overwritten; elsewhere there is one every ten seconds.
  explicit Progress(const std::filesystem::path& timeline);
  ~Progress();

  // Adds an event, with its time, to the file.
  void note(const std::string& what);
  // Whether it is time to show the state again.
  [[nodiscard]] bool due();
  // The present state. A terminal always shows it; elsewhere only when it is due.
  void show(const std::string& line);
  // A line that stays.
  void say(const std::string& line);

 private:
  void clear();

  const TimePoint began_ = BootClock::now();
  const bool terminal_;
  std::mutex mutex_;
  std::ofstream timeline_;
  TimePoint shown_ = began_;
  bool open_ = false;  // a line that will be overwritten
};

// "1 min 05 s", "12 s".
std::string readable(Duration duration);

}  // namespace lockset::chaos
