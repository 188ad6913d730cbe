// What happens in a run besides faults and signals: nothing but time, or a migration.
#pragma once

#include <optional>
#include <string>

#include "lockset/clock.h"

namespace lockset::chaos {

class Observer;
class StoreTrouble;
class Workers;

// For the main thread.
class Course {
 public:
  // The participants; they exist until the course is over.
  struct Cast {
    Workers& workers;
    const StoreTrouble& faults;
    Observer& observer;
  };

  Course() = default;
  Course(const Course&) = delete;
  Course& operator=(const Course&) = delete;
  virtual ~Course() = default;

  // Called once, as soon as something was granted. `began`: when the run began.
  virtual void begin(TimePoint began, const Cast& cast) = 0;
  // Called all the time; false when the course is over.
  virtual bool go_on(TimePoint now) = 0;
  // What is wrong; then the run ends.
  virtual std::optional<std::string> trouble() { return {}; }
  // The run ends, for any reason: afterwards nothing of this course continues.
  virtual void end() {}
  // The state for people, in a few words: "3 min 05 s left".
  [[nodiscard]] virtual std::string state(TimePoint now) const = 0;
};

}  // namespace lockset::chaos
