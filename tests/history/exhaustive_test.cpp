// I1 and I2 against the definition itself: is there any order of the grants and releases that
// agrees with the times of questions and answers, and keeps the admission rule? Small histories
// have few orders; the test tries all of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "history/check.h"
#include "history/text.h"
#include "tests/support/seed.h"

namespace lockset::history {
namespace {

struct Permits {
  std::uint32_t read = 1;
  std::uint32_t write = 1;
};

struct Hold {
  std::int64_t stamp = 0;
  std::vector<std::pair<int, Mode>> set;
  std::int64_t asked = 0, granted = 0, giving_up = 0, given_up = 0;
};

struct Case {
  std::vector<Permits> permits;  // per name
  std::vector<Hold> holds;
};

Case make_case(std::mt19937_64& random) {
  const auto below = [&](int bound) { return static_cast<int>(random() % std::uint64_t(bound)); };
  Case made;
  const int names = 1 + below(2);
  for (int i = 0; i < names; ++i) {
    made.permits.push_back(
        {1U + static_cast<std::uint32_t>(below(2)), 1U + static_cast<std::uint32_t>(below(2))});
  }
  const int holds = 1 + below(4);
  std::vector<std::int64_t> stamps;
  for (int i = 0; i < holds; ++i) stamps.push_back(i + 1);
  // Few moments, because ties and overlaps matter. With stamps that mostly follow the order in
  // which the grants were asked for, both verdicts are frequent.
  const int moments = 6 + below(12);
  for (int i = 0; i < holds; ++i) {
    Hold& hold = made.holds.emplace_back();
    for (int name = 0; name < names; ++name) {
      if (below(3) == 0 && (name + 1 < names || !hold.set.empty())) continue;
      hold.set.emplace_back(name, below(2) == 0 ? Mode::read : Mode::write);
    }
    hold.asked = below(moments);
    hold.granted = hold.asked + below(4);
    hold.giving_up = hold.granted + 1 + below(4);
    hold.given_up = hold.giving_up + below(3);
  }
  if (below(2) == 0) {
    std::sort(made.holds.begin(), made.holds.end(), [](const Hold& a, const Hold& b) {
      return a.asked + a.granted < b.asked + b.granted;
    });
  }
  if (below(4) == 0) std::shuffle(stamps.begin(), stamps.end(), random);
  for (int i = 0; i < holds; ++i) made.holds[std::size_t(i)].stamp = stamps[std::size_t(i)];
  return made;
}

// Tries every order. `by_stamp`: only those in which the grants are in the order of their stamps.
class Search {
 public:
  Search(const Case& of, bool by_stamp)
      : case_(of), by_stamp_(by_stamp), state_(of.holds.size(), 0) {}

  bool possible() {
    if (std::all_of(state_.begin(), state_.end(), [](int state) { return state == 2; }))
      return true;
    for (std::size_t i = 0; i < state_.size(); ++i) {
      if (state_[i] == 2 || !may_be_next(i)) continue;
      if (state_[i] == 0 && !admissible(i)) continue;
      ++state_[i];
      const bool found = possible();
      --state_[i];
      if (found) return true;
    }
    return false;
  }

 private:
  std::int64_t begin_of(std::size_t i) const {
    return state_[i] == 0 ? case_.holds[i].asked : case_.holds[i].giving_up;
  }
  // Real time: nothing that is still to come had returned before this was asked for.
  bool may_be_next(std::size_t i) const {
    for (std::size_t j = 0; j < state_.size(); ++j) {
      if (j == i) continue;
      const Hold& other = case_.holds[j];
      if (state_[j] == 0 && other.granted < begin_of(i)) return false;
      if (state_[j] == 1 && other.given_up < begin_of(i)) return false;
      if (by_stamp_ && state_[i] == 0 && state_[j] == 0 && other.stamp < case_.holds[i].stamp) {
        return false;
      }
    }
    return true;
  }
  bool admissible(std::size_t i) const {
    for (const auto& [name, mode] : case_.holds[i].set) {
      std::uint32_t readers = 0;
      std::uint32_t writers = 0;
      for (std::size_t j = 0; j < state_.size(); ++j) {
        if (state_[j] != 1) continue;
        for (const auto& [held, held_mode] : case_.holds[j].set) {
          if (held == name) ++(held_mode == Mode::read ? readers : writers);
        }
      }
      const Permits& permits = case_.permits[std::size_t(name)];
      const bool admitted = mode == Mode::write ? readers == 0 && writers + 1 <= permits.write
                                                : writers == 0 && readers + 1 <= permits.read;
      if (!admitted) return false;
    }
    return true;
  }

  const Case& case_;
  bool by_stamp_;
  std::vector<int> state_;  // 0: to be granted, 1: held, 2: released
};

History history_of(const Case& of) {
  const auto ms = [](std::int64_t t) { return TimePoint(std::chrono::milliseconds(t)); };
  History history;
  for (std::size_t i = 0; i < of.holds.size(); ++i) {
    const Hold& hold = of.holds[i];
    std::vector<Wish> set;
    for (const auto& [name, mode] : hold.set) {
      const Permits& permits = of.permits[std::size_t(name)];
      set.push_back({std::string(1, static_cast<char>('a' + name)), mode,
                     mode == Mode::read ? permits.read : permits.write});
    }
    Log& log = history.emplace_back();
    log.process = "p" + std::to_string(i);
    const Stamp stamp{hold.stamp};
    log.events = {{ms(hold.asked), Ask{1, set, std::chrono::hours(1), {}}},
                  {ms(hold.granted), Granted{1, stamp, ms(1000000), {}}},
                  {ms(hold.giving_up), Release{stamp}},
                  {ms(hold.given_up), Released{stamp}}};
  }
  return history;
}

std::string text_of(const History& history) {
  std::string text;
  for (const Log& log : history) {
    text += print_header(log.process);
    for (const Event& event : log.events) text += print(event);
  }
  return text;
}

TEST(Exhaustive, TheCheckerAgreesWithTheSearchOfAllOrders) {
  const std::uint64_t seed = test::test_seed();
  SCOPED_TRACE(test::describe_seed(seed));
  std::mt19937_64 random(seed);
  const std::uint64_t runs = test::number_from_environment("LOCKSET_TEST_HISTORIES", 60000);
  std::uint64_t bad_exclusion = 0;
  std::uint64_t bad_fencing = 0;
  std::uint64_t told_by_stamps_alone = 0;
  for (std::uint64_t run = 0; run < runs; ++run) {
    const Case small = make_case(random);
    const History history = history_of(small);
    const Report report = check(history, {}).value();
    const bool excluded = Search(small, false).possible();
    const bool fenced = Search(small, true).possible();
    ASSERT_EQ(report.found_of(Invariant::exclusion) == 0, excluded) << text_of(history);
    ASSERT_EQ(report.found_of(Invariant::fencing) == 0, fenced) << text_of(history);
    bad_exclusion += excluded ? 0 : 1;
    bad_fencing += fenced ? 0 : 1;
    told_by_stamps_alone += excluded && !fenced ? 1 : 0;
  }
  std::printf("%llu histories: %llu break I1, %llu break I2, %llu of these I2 alone\n",
              static_cast<unsigned long long>(runs), static_cast<unsigned long long>(bad_exclusion),
              static_cast<unsigned long long>(bad_fencing),
              static_cast<unsigned long long>(told_by_stamps_alone));
  // Both verdicts must be frequent; otherwise the comparison shows little.
  EXPECT_GT(bad_exclusion, runs / 5);
  EXPECT_LT(bad_exclusion, runs * 4 / 5);
  EXPECT_GT(bad_fencing, runs / 5);
  EXPECT_LT(bad_fencing, runs * 4 / 5);
  EXPECT_GT(told_by_stamps_alone, runs / 50);
}

}  // namespace
}  // namespace lockset::history
