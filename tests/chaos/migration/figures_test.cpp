// The figures of a run's parts match the history.
#include "tests/chaos/migration/figures.h"

#include <gtest/gtest.h>

#include "tests/support/wait.h"

namespace lockset::chaos {
namespace {

using namespace std::chrono_literals;

using test::at;

std::vector<Span> three_spans() {
  std::vector<Span> spans(3);
  for (std::size_t i = 0; i < spans.size(); ++i) {
    spans[i].from = at(i * 10s);
    spans[i].to = at((i + 1) * 10s);
  }
  return spans;
}

// Each acquire is asked `took` before it is granted.
history::Log grants(const std::string& process, const std::vector<Duration>& times, Duration took,
                    Duration wait = 0s) {
  history::Log log{.source = {}, .process = process, .events = {}};
  std::uint64_t op = 0;
  for (const Duration time : times) {
    ++op;
    log.events.push_back({at(time - took), history::Ask{op, {{"a"}}, 2s, wait}});
    log.events.push_back({at(time), history::Granted{op, Stamp{1}, at(time + 2s), {}}});
  }
  return log;
}

std::vector<Figures> of(const history::History& history,
                        const std::vector<FailedCall>& failures = {}) {
  return figures_of(history, three_spans(), {{"one", Way::old_store}, {"two", Way::both}},
                    failures);
}

TEST(Figures, GrantsAreCountedWhereTheyCame) {
  const auto figures = of({grants("one", {1s, 2s, 12s}, 1ms), grants("two", {11s, 25s}, 1ms)});
  EXPECT_EQ(figures[0].grants, 2U);
  EXPECT_EQ(figures[1].grants, 2U);
  EXPECT_EQ(figures[2].grants, 1U);
}

TEST(Figures, TheTimeWithoutAnyGrantIsThatOfAllProcessesTogether) {
  const history::History history{grants("one", {1s, 3s, 8s}, 1ms),
                                 grants("two", {2s, 5s, 14s, 15s}, 1ms)};
  const auto figures = of(history);
  EXPECT_EQ(figures[0].longest_without_grant, 6s) << "from 8 s, where it began";
  EXPECT_EQ(figures[1].longest_without_grant, 1s);
  EXPECT_EQ(figures[2].longest_without_grant, 0s);
  EXPECT_EQ(longest_without_grant(history), 6s);
}

TEST(Figures, LatencyIsOfTriesByWhoAsked) {
  history::History history{grants("one", {1s, 2s, 3s}, 10ms), grants("two", {4s, 5s}, 30ms)};
  history.push_back(grants("one", {6s}, 5s, 7s));  // it waited
  const auto figures = of(history);
  EXPECT_EQ(figures[0].tries[0].count, 3U);
  EXPECT_EQ(figures[0].tries[0].median, 10ms);
  EXPECT_EQ(figures[0].tries[1].count, 2U);
  EXPECT_EQ(figures[0].tries[1].p99, 30ms);
  EXPECT_EQ(figures[0].tries[2].count, 0U);
}

TEST(Figures, FailuresAreCountedByReason) {
  const auto figures = of({}, {{at(12s), "one", "unavailable: port 5000 is closed", true},
                               {at(13s), "two", "unavailable: port 5001 is closed", false},
                               {at(25s), "one", "indeterminate: no reply", true}});
  EXPECT_TRUE(figures[0].failures.empty());
  EXPECT_EQ(figures[1].failures,
            (std::map<std::string, std::size_t>{{"unavailable: port # is closed", 2}}));
  EXPECT_EQ(figures[1].unexplained, 1U);
  EXPECT_EQ(figures[2].failures,
            (std::map<std::string, std::size_t>{{"indeterminate: no reply", 1}}));
  EXPECT_EQ(figures[2].unexplained, 0U);
}

}  // namespace
}  // namespace lockset::chaos
