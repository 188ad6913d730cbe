// The counting observer, and Prometheus' text format.
#include "lockset/metrics.h"

#include <gmock/gmock.h>

#include <thread>
#include <vector>

#include "core/prometheus_text.h"
#include "lockset/locks.h"
#include "tests/support/event_counts.h"

namespace lockset {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;
using Kind = Event::Kind;

TEST(Metrics, CountsWhatAProgramDoes) {
  const auto next = std::make_shared<test::EventCounts>();
  const auto metrics = std::make_shared<Metrics>("memory:", next);
  auto locks = open("memory:", {.observer = metrics}).value();
  {
    auto hold = locks.acquire({write("a")}).value();
    EXPECT_FALSE(locks.try_acquire({write("a")}).value().has_value());
    hold.release().value();
  }
  EXPECT_EQ(metrics->count(Kind::granted), 1U);
  EXPECT_EQ(metrics->count(Kind::busy), 1U);
  EXPECT_EQ(metrics->count(Kind::released), 1U);
  EXPECT_EQ(metrics->count(Kind::lost), 0U);
  EXPECT_EQ(next->granted, 1) << "the next observer is told, too";

  const std::string text = metrics->prometheus_text();
  EXPECT_THAT(text, HasSubstr("# TYPE lockset_events_total counter\n"));
  EXPECT_THAT(text, HasSubstr("lockset_events_total{store=\"memory\",space=\"memory:\","
                              "event=\"granted\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("event=\"lost\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("event=\"clock_stepped\"} 0\n"));
  EXPECT_THAT(text,
              HasSubstr("lockset_acquire_seconds_count{store=\"memory\",space=\"memory:\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("unknown")));
}

TEST(Metrics, AddsUpTimesInBuckets) {
  Metrics metrics("memory:");
  metrics.on_event({.kind = Kind::renewed, .took = 1ms});  // at its bound
  metrics.on_event({.kind = Kind::renewed, .took = 5ms});
  metrics.on_event({.kind = Kind::renewed, .took = 20min});
  metrics.on_event({.kind = Kind::released, .took = 0ms});  // a conversion
  metrics.on_event({.kind = Kind::collided, .count = 3});
  const std::string text = metrics.prometheus_text();
  const std::string of = "lockset_renew_seconds_bucket{store=\"memory\",space=\"memory:\",le=";
  EXPECT_THAT(text, HasSubstr(of + "\"0.001\"} 1\n"));
  EXPECT_THAT(text, HasSubstr(of + "\"0.0025\"} 1\n"));
  EXPECT_THAT(text, HasSubstr(of + "\"0.01\"} 2\n"));
  EXPECT_THAT(text, HasSubstr(of + "\"600\"} 2\n"));
  EXPECT_THAT(text, HasSubstr(of + "\"+Inf\"} 3\n"));
  EXPECT_THAT(
      text, HasSubstr("lockset_renew_seconds_sum{store=\"memory\",space=\"memory:\"} 1200.006\n"));
  EXPECT_THAT(text,
              HasSubstr("lockset_release_seconds_count{store=\"memory\",space=\"memory:\"} 0\n"));
  EXPECT_EQ(metrics.count(Kind::collided), 3U);
  EXPECT_EQ(metrics.count(Kind::released), 1U);
}

TEST(Metrics, SeveralSpacesMakeOneText) {
  const Metrics one("memory:one");
  const Metrics two("memory:two");
  const Metrics* const both[] = {&one, &two};
  const std::string text = prometheus_text(both);
  const std::string type = "# TYPE lockset_events_total counter\n";
  ASSERT_THAT(text, HasSubstr(type));
  EXPECT_EQ(text.find(type, text.find(type) + 1), std::string::npos) << "once for all samples";
  EXPECT_THAT(text, HasSubstr("space=\"memory:one\",event=\"granted\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("space=\"memory:two\",event=\"granted\"} 0\n"));
}

TEST(Metrics, ShowsNoSecretAndEscapesWhatItShows) {
  const Metrics metrics("postgresql://app:secret@db/prod?sslpassword=secret");
  EXPECT_THAT(metrics.prometheus_text(), Not(HasSubstr("secret@")));
  EXPECT_THAT(metrics.prometheus_text(), Not(HasSubstr("=secret")));
  EXPECT_THAT(metrics.prometheus_text(), HasSubstr("store=\"postgresql\""));
  EXPECT_EQ(prometheus_label("a", "\\ \" \n é \xFF"), "a=\"\\\\ \\\" \\n é ?\"");
}

TEST(Metrics, ThreadsCountTogether) {
  Metrics metrics("memory:");
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int j = 0; j < 1000; ++j) metrics.on_event({.kind = Kind::granted, .took = 1us});
      });
    }
  }
  EXPECT_EQ(metrics.count(Kind::granted), 4000U);
}

}  // namespace
}  // namespace lockset
