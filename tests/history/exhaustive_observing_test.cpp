// I10 against the definition itself: is there any order of the grants, releases, observations and
// validations of one name that agrees with the times of questions and answers, with the admission
// rule, with the stamps, and with what was seen? Small histories have few orders; the test tries
// all of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "history/check.h"
#include "history/text.h"
#include "tests/support/seed.h"

namespace lockset::history {
namespace {

struct Call {
  std::int64_t asked = 0, answered = 0;
};
struct Hold {
  Mode mode = Mode::write;
  Call grant;
  Call release;
  std::optional<std::size_t> condition;  // the observation that it depends on
};
struct Look {
  Call call;
  std::size_t trace = 0;  // the hold that left it; as many as there are holds: none of them
  bool being_written = false;
};
struct Validated {  // as unchanged
  Call call;
  std::size_t look = 0;
};

struct Case {
  std::vector<Hold> holds;  // in the order of their stamps
  std::vector<Look> looks;
  std::vector<Validated> validations;
};

Case make_case(std::mt19937_64& random) {
  const auto below = [&](std::size_t bound) { return random() % bound; };
  const auto some = [&](int bound) {
    return static_cast<std::int64_t>(random() % std::uint64_t(bound));
  };
  Case made;
  const int moments = 6 + static_cast<int>(below(12));
  const auto call = [&](std::int64_t from) {
    const std::int64_t asked = from + some(moments);
    return Call{asked, asked + some(5)};
  };
  for (std::size_t i = 1 + below(3); i > 0; --i) {
    Hold& hold = made.holds.emplace_back();
    if (below(5) == 0) hold.mode = Mode::read;
    hold.grant = call(0);
    hold.release = {hold.grant.answered + 1 + some(4), 0};
    hold.release.answered = hold.release.asked + some(3);
  }
  std::sort(made.holds.begin(), made.holds.end(), [](const Hold& a, const Hold& b) {
    return a.grant.asked + a.grant.answered < b.grant.asked + b.grant.answered;
  });
  for (std::size_t i = 1 + below(2); i > 0; --i) {
    // The trace of none of the holds is the same for all.
    made.looks.push_back({call(0), below(made.holds.size() + 1), below(2) == 0});
  }
  for (std::size_t i = below(2); i > 0; --i) {
    const std::size_t look = below(made.looks.size());
    made.validations.push_back({call(made.looks[look].call.answered), look});
  }
  for (Hold& hold : made.holds) {
    if (below(6) == 0) hold.condition = below(made.looks.size());
  }
  return made;
}

// Whether these can be what it saw and relied on at all.
bool sensible(const Case& of) {
  for (const Look& look : of.looks) {
    if (look.trace < of.holds.size() && of.holds[look.trace].mode == Mode::read) return false;
  }
  for (const Hold& hold : of.holds) {
    if (hold.condition && of.looks[*hold.condition].call.answered > hold.grant.asked) return false;
  }
  return true;
}

// Tries every order in which the grants have the order of their stamps.
class Search {
 public:
  explicit Search(const Case& of) : case_(of), steps_(steps_of(of)), done_(steps_.size(), false) {}

  bool possible() {
    if (std::all_of(done_.begin(), done_.end(), [](bool done) { return done; })) return true;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (done_[i] || !may_be_next(i) || !agrees(steps_[i])) continue;
      const State before = state_;
      apply(steps_[i]);
      done_[i] = true;
      const bool found = possible();
      done_[i] = false;
      state_ = before;
      if (found) return true;
    }
    return false;
  }

 private:
  struct Step {
    enum class Kind { grant, release, look, validation } kind = Kind::grant;
    std::size_t index = 0;
    Call call;
  };
  struct State {
    std::vector<std::size_t> held;
    std::size_t granted = 0;
    // The last write; as many as there are holds: none.
    std::size_t last_write = 0;
    // Whether there was a write since the trace of none of the holds was first seen.
    std::optional<bool> written;
  };

  static std::vector<Step> steps_of(const Case& of) {
    std::vector<Step> steps;
    for (std::size_t i = 0; i < of.holds.size(); ++i) {
      steps.push_back({Step::Kind::grant, i, of.holds[i].grant});
      steps.push_back({Step::Kind::release, i, of.holds[i].release});
    }
    for (std::size_t i = 0; i < of.looks.size(); ++i) {
      steps.push_back({Step::Kind::look, i, of.looks[i].call});
    }
    for (std::size_t i = 0; i < of.validations.size(); ++i) {
      steps.push_back({Step::Kind::validation, i, of.validations[i].call});
    }
    return steps;
  }

  // Real time: nothing that is still to come had returned before this was asked for.
  bool may_be_next(std::size_t i) const {
    for (std::size_t j = 0; j < steps_.size(); ++j) {
      if (j != i && !done_[j] && steps_[j].call.answered < steps_[i].call.asked) return false;
    }
    return true;
  }
  bool writes_now() const {
    return std::any_of(state_.held.begin(), state_.held.end(),
                       [&](std::size_t i) { return case_.holds[i].mode == Mode::write; });
  }
  bool shows(const Look& look) const {
    if (look.trace < case_.holds.size()) {
      return state_.granted > look.trace && state_.last_write == look.trace;
    }
    return !state_.written.value_or(false);
  }
  bool agrees(const Step& step) const {
    switch (step.kind) {
      case Step::Kind::grant: {
        const Hold& hold = case_.holds[step.index];
        if (step.index != state_.granted) return false;
        if (!state_.held.empty() && (hold.mode == Mode::write || writes_now())) return false;
        if (!hold.condition) return true;
        const Look& look = case_.looks[*hold.condition];
        return !look.being_written && shows(look);
      }
      case Step::Kind::release:
        return std::find(state_.held.begin(), state_.held.end(), step.index) != state_.held.end();
      case Step::Kind::look: {
        const Look& look = case_.looks[step.index];
        return shows(look) && (look.being_written || !writes_now());
      }
      case Step::Kind::validation: {
        const Look& look = case_.looks[case_.validations[step.index].look];
        return shows(look) && !look.being_written;
      }
    }
    return false;
  }
  void apply(const Step& step) {
    if (step.kind == Step::Kind::release) {
      std::erase(state_.held, step.index);
    } else if (step.kind == Step::Kind::grant) {
      state_.held.push_back(step.index);
      ++state_.granted;
      if (case_.holds[step.index].mode == Mode::read) return;
      state_.last_write = step.index;
      if (state_.written) state_.written = true;
    } else if (step.kind == Step::Kind::look &&
               case_.looks[step.index].trace == case_.holds.size() && !state_.written) {
      state_.written = false;
    }
  }

  const Case& case_;
  const std::vector<Step> steps_;
  std::vector<bool> done_;
  State state_;
};

History history_of(const Case& of) {
  const auto ms = [](std::int64_t t) { return TimePoint(std::chrono::milliseconds(t)); };
  const auto stamp = [](std::size_t hold) { return Stamp{static_cast<std::int64_t>(hold + 2)}; };
  // One process, for conditions name its own observations.
  Log log;
  log.process = "p";
  std::uint64_t op = 0;
  const auto add = [&](std::int64_t at, What what) {
    log.events.push_back({ms(at), std::move(what)});
  };
  for (const Look& look : of.looks) {
    ++op;
    add(look.call.asked, Observe{op});
    const Stamp trace = look.trace < of.holds.size() ? stamp(look.trace) : Stamp{1};
    add(look.call.answered, Observed{op, {{"a", trace, look.being_written}}});
  }
  for (const Validated& each : of.validations) {
    ++op;
    add(each.call.asked, Validate{op, each.look + 1});
    add(each.call.answered, Unchanged{op});
  }
  for (std::size_t i = 0; i < of.holds.size(); ++i) {
    const Hold& hold = of.holds[i];
    ++op;
    add(hold.grant.asked, Ask{op, {{"a", hold.mode, 9}}, std::chrono::hours(1), {}});
    if (hold.mode == Mode::write) std::get<Ask>(log.events.back().what).set[0].permits = 1;
    if (hold.condition) add(hold.grant.asked, Condition{op, *hold.condition + 1});
    add(hold.grant.answered, Granted{op, stamp(i), ms(1000000), {}});
    add(hold.release.asked, Release{stamp(i)});
    add(hold.release.answered, Released{stamp(i)});
  }
  return {log};
}

std::string text_of(const History& history) {
  std::string text;
  for (const Event& event : history.front().events) text += print(event);
  return text;
}

TEST(Exhaustive, TheCheckerOfObservationsAgreesWithTheSearchOfAllOrders) {
  const std::uint64_t seed = test::test_seed();
  SCOPED_TRACE(test::describe_seed(seed));
  std::mt19937_64 random(seed);
  const std::uint64_t runs = test::number_from_environment("LOCKSET_TEST_HISTORIES", 60000);
  Rules rules;
  rules.least = {};
  std::uint64_t bad = 0;
  std::uint64_t told_by_it_alone = 0;
  std::uint64_t missed = 0;
  for (std::uint64_t run = 0; run < runs; ++run) {
    Case small = make_case(random);
    while (!sensible(small)) small = make_case(random);
    const History history = history_of(small);
    const Report report = check(history, rules).value();
    // Whether somebody may be writing is another rule.
    const bool broken = report.found_of(Invariant::observing) > report.counts.spurious_changes;
    const bool others =
        report.found_of(Invariant::exclusion) + report.found_of(Invariant::fencing) > 0;
    const bool possible = Search(small).possible();
    ASSERT_FALSE(possible && (broken || others)) << text_of(history);
    bad += possible ? 0 : 1;
    told_by_it_alone += broken && !others ? 1 : 0;
    missed += !possible && !broken && !others ? 1 : 0;
  }
  std::printf("%llu histories: %llu are impossible, I10 alone tells it of %llu, nothing of %llu\n",
              static_cast<unsigned long long>(runs), static_cast<unsigned long long>(bad),
              static_cast<unsigned long long>(told_by_it_alone),
              static_cast<unsigned long long>(missed));
  // Both verdicts must be frequent; otherwise the comparison shows little.
  EXPECT_GT(bad, runs / 5);
  EXPECT_LT(bad, runs * 4 / 5);
  EXPECT_GT(told_by_it_alone, runs / 10);
  // What shows only by all rules together: no write can have been granted before a certain hold had
  // ended, and so it was granted after an observation.
  EXPECT_LT(missed, bad / 500);
}

}  // namespace
}  // namespace lockset::history
