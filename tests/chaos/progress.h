// How a run goes, for people: a line now and then on standard error, and every event in a
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
  // At a terminal the line is written over; elsewhere there is one each ten seconds.
  explicit Progress(const std::filesystem::path& timeline);
  ~Progress();

  // What happened, with its time, for the file.
  void note(const std::string& what);
  // Whether it is time to show the state of things again.
  [[nodiscard]] bool due();
  // The state of things now. At a terminal it always shows; elsewhere when it is due.
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
  bool open_ = false;  // a line that is to be written over
};

// "1 min 05 s", "12 s".
std::string readable(Duration duration);

}  // namespace lockset::chaos
