// What a run goes through besides faults and signals: time alone, or a migration.
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
  // Who takes part; they are there until the course is over.
  struct Cast {
    Workers& workers;
    const StoreTrouble& faults;
    Observer& observer;
  };

  Course() = default;
  Course(const Course&) = delete;
  Course& operator=(const Course&) = delete;
  virtual ~Course() = default;

  // Once, as soon as something was granted. `began`: when the run did.
  virtual void begin(TimePoint began, const Cast& cast) = 0;
  // All the time; false when it is over.
  virtual bool go_on(TimePoint now) = 0;
  // What is wrong; the run ends then.
  virtual std::optional<std::string> trouble() { return {}; }
  // The run ends, for whatever reason: nothing of this goes on afterwards.
  virtual void end() {}
  // How it goes, for people, in a few words: "3 min 05 s left".
  [[nodiscard]] virtual std::string state(TimePoint now) const = 0;
};

}  // namespace lockset::chaos
