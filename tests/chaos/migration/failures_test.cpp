// An acquire that fails is lost unless the run gave a reason for it.
#include "tests/chaos/migration/failures.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "tests/support/wait.h"

namespace lockset::chaos {
namespace {

using namespace std::chrono_literals;

using test::at;

class FailureTest : public testing::Test {
 protected:
  FailureTest() { std::filesystem::create_directories(output_); }
  ~FailureTest() override { std::filesystem::remove_all(output_); }
  FailureTest(const FailureTest&) = delete;
  FailureTest& operator=(const FailureTest&) = delete;

  // For worker-1, at 100 s.
  bool explained(const history::History& history, const std::vector<Span>& spans = {},
                 bool stops_hinder_all = false) {
    std::ofstream(output_ / "worker-1.txt") << "failed 100000000000 unavailable: it is down\n";
    const auto found = failures_of(output_, history, spans, stops_hinder_all);
    EXPECT_EQ(found.size(), 1U);
    return found.at(0).explained;
  }
  static history::History told(std::vector<history::Event> events) {
    return {{.source = {}, .process = "controller", .events = std::move(events)}};
  }

  const std::filesystem::path output_ =
      std::filesystem::temp_directory_path() / ("lockset-failures-" + std::to_string(getpid()));
};

TEST_F(FailureTest, AreReadFromWhatProcessesPrint) {
  std::ofstream(output_ / "worker-7.txt") << "clock_stepped: by 3 s\n"
                                             "failed 12000000000 unavailable: it is down\n"
                                             "failed nonsense\n"
                                             "failed \n";
  const auto found = failures_of(output_, {}, {}, false);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].time, at(12s));
  EXPECT_EQ(found[0].process, "worker-7");
  EXPECT_EQ(found[0].text, "unavailable: it is down");
  EXPECT_FALSE(found[0].explained);
}

TEST_F(FailureTest, AStopExplainsThoseOfItsProcess) {
  const auto stop = [](const std::string& who, Duration from, Duration to) {
    return told({{at(from), history::Stop{who}}, {at(to), history::Cont{who}}});
  };
  EXPECT_TRUE(explained(stop("worker-1", 97s, 99s)));
  EXPECT_FALSE(explained(stop("worker-2", 97s, 99s)));
  EXPECT_TRUE(explained(stop("worker-2", 97s, 99s), {}, true));
  EXPECT_FALSE(explained(stop("worker-1", 80s, 90s))) << "long ago";
  EXPECT_FALSE(explained(stop("worker-1", 101s, 102s))) << "later";
}

TEST_F(FailureTest, AFaultExplainsThoseOfEverybody) {
  EXPECT_TRUE(explained(told({{at(99s), history::FaultBegin{"old-server-kill"}}})));
  EXPECT_FALSE(explained(told({{at(90s), history::FaultBegin{"old-server-kill"}},
                               {at(91s), history::FaultEnd{"old-server-kill"}}})));
}

TEST_F(FailureTest, AStepExplainsAMomentALegNothing) {
  Span span;
  span.from = at(99s);
  span.to = at(101s);
  EXPECT_FALSE(explained({}, {span}));
  span.step.emplace();
  EXPECT_TRUE(explained({}, {span}));
}

TEST_F(FailureTest, FewAreBorneWithoutAReason) {
  const auto asked = [](std::size_t count) {
    std::vector<history::Event> events(count, {at(1s), history::Ask{1, {{"a"}}, 2s, 0s}});
    return told(std::move(events));
  };
  const FailedCall unexplained{at(1s), "worker-1", "unavailable: it is down", false};
  const FailedCall explained{at(1s), "worker-2", "unavailable: it is down", true};
  EXPECT_FALSE(too_many_lost({unexplained, explained, explained}, asked(100)));
  EXPECT_TRUE(too_many_lost({unexplained, explained, unexplained}, asked(100)));
  EXPECT_FALSE(too_many_lost({}, {}));
}

}  // namespace
}  // namespace lockset::chaos
