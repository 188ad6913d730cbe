// Small histories written by hand: events of a process at millisecond t.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "history/check.h"

namespace lockset::history {

inline TimePoint ms(std::int64_t t) { return TimePoint(std::chrono::milliseconds(t)); }
inline Wish w(std::string name, std::uint32_t permits = 1) {
  return {std::move(name), Mode::write, permits};
}
inline Wish r(std::string name, std::uint32_t permits = 1) {
  return {std::move(name), Mode::read, permits};
}

class Story {
 public:
  // Appends an event to the log of `process`, in any order of time.
  Story& add(const std::string& process, std::int64_t at, What what) {
    Log& log = logs_[process];
    log.process = process;
    log.events.push_back({ms(at), std::move(what)});
    return *this;
  }
  Story& ask(const std::string& process, std::uint64_t op, std::int64_t at, std::vector<Wish> set,
             Duration wait = {}) {
    return add(process, at, Ask{op, std::move(set), std::chrono::seconds(2), wait});
  }
  // Asked at `a`, granted at `b`, promised until `until`.
  Story& hold(const std::string& process, std::uint64_t op, std::int64_t stamp,
              std::vector<Wish> set, std::int64_t a, std::int64_t b, std::int64_t until) {
    ask(process, op, a, std::move(set));
    return add(process, b, Granted{op, Stamp{stamp}, ms(until), {}});
  }
  Story& release(const std::string& process, std::int64_t stamp, std::int64_t sent,
                 std::int64_t returned) {
    add(process, sent, Release{Stamp{stamp}});
    return add(process, returned, Released{Stamp{stamp}});
  }
  // hold and release.
  Story& had(const std::string& process, std::uint64_t op, std::int64_t stamp,
             std::vector<Wish> set, std::int64_t a, std::int64_t b, std::int64_t c,
             std::int64_t d) {
    hold(process, op, stamp, std::move(set), a, b, d + 1000);
    return release(process, stamp, c, d);
  }

  [[nodiscard]] History history() const {
    History all;
    for (const auto& [process, log] : logs_) all.push_back(log);
    return all;
  }
  [[nodiscard]] Report check(const Rules& rules = {}) const {
    return history::check(history(), rules).value();
  }

 private:
  std::map<std::string, Log> logs_;
};

// Only this invariant is broken, once.
inline void expect_only(const Report& report, Invariant broken, const std::string& part) {
  ASSERT_EQ(report.violations.size(), 1U);
  EXPECT_EQ(report.violations[0].invariant, broken) << report.violations[0].story;
  EXPECT_NE(report.violations[0].story.find(part), std::string::npos) << report.violations[0].story;
}
inline void expect_kept(const Report& report) {
  for (const Violation& each : report.violations) {
    ADD_FAILURE() << to_string(each.invariant) << ": " << each.story;
  }
}

}  // namespace lockset::history
