// A course of a given length in which nothing else happens.
#pragma once

#include <algorithm>
#include <string>

#include "tests/chaos/course.h"
#include "tests/chaos/progress.h"

namespace lockset::chaos {

class TimeCourse final : public Course {
 public:
  explicit TimeCourse(Duration length) : length_(length) {}

  void begin(TimePoint began, const Cast&) override { end_ = began + length_; }
  bool go_on(TimePoint now) override { return now < end_; }
  [[nodiscard]] std::string state(TimePoint now) const override {
    return readable(std::max<Duration>(end_ - now, Duration::zero())) + " left";
  }

 private:
  const Duration length_;
  TimePoint end_;
};

}  // namespace lockset::chaos
