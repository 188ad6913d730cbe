#include "tests/support/recorder.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <stdexcept>

#include "history/text.h"
#include "tests/support/threads.h"

namespace lockset::test {
namespace {

// The signal that ends a child that does this; 0 if none.
int signal_that_ends(const std::function<void()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

class RecorderTest : public testing::Test {
 protected:
  RecorderTest() {
    std::string pattern = std::filesystem::temp_directory_path() / "lockset-recorder-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~RecorderTest() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] history::Log recorded() const {
    std::ifstream file(path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    return history::parse_log(text, path()).value();
  }
  [[nodiscard]] std::string path() const { return folder_ / "one.log"; }

  std::filesystem::path folder_;
};

TEST_F(RecorderTest, AFileHoldsWhatWasRecorded) {
  Recorder recorder("worker 1", path());
  const std::vector<LockRequest> wanted{read("a"), write("b c")};
  const std::vector<std::uint32_t> permits{1000, 1};
  const TimePoint before = recorder.now();
  const std::uint64_t op = recorder.ask(wanted, std::chrono::seconds(2), Duration::max(), permits);
  recorder.record_at(TimePoint(Duration(17)), history::Busy{op, "b c", Stamp{5}});
  const history::Log log = recorded();
  EXPECT_EQ(log.process, "worker 1");
  ASSERT_EQ(log.events.size(), 2U);
  EXPECT_EQ(std::get<history::Ask>(log.events[0].what).set, wishes(wanted, permits));
  EXPECT_GE(log.events[0].time, before);
  EXPECT_LE(log.events[0].time, recorder.now());
  EXPECT_EQ(log.events[1],
            (history::Event{TimePoint(Duration(17)), history::Busy{op, "b c", Stamp{5}}}));
}

TEST_F(RecorderTest, MemoryHoldsTheSameAsAFile) {
  Recorder file("p", path());
  Recorder memory("p");
  for (Recorder* each : {&file, &memory}) {
    each->record_at(TimePoint(Duration(1)), history::Lost{Stamp{3}});
    each->record_at(TimePoint(Duration(2)), history::End{1, 2, 3});
  }
  EXPECT_EQ(memory.log().process, recorded().process);
  EXPECT_EQ(memory.log().events, recorded().events);
}

TEST_F(RecorderTest, LinesOfManyThreadsStayWhole) {
  constexpr std::size_t threads = 8;
  constexpr std::int64_t each = 500;
  {
    Recorder recorder("p", path());
    run_threads(threads, [&](std::size_t thread) {
      for (std::int64_t i = 0; i < each; ++i) {
        recorder.record(history::Lost{Stamp{static_cast<std::int64_t>(thread) * each + i + 1}});
      }
    });
  }
  std::vector<std::int64_t> last(threads, -1);
  const history::Log log = recorded();
  EXPECT_EQ(log.events.size(), threads * each);
  for (const history::Event& event : log.events) {
    const std::int64_t number = std::get<history::Lost>(event.what).stamp.value - 1;
    std::int64_t& before = last.at(static_cast<std::size_t>(number / each));
    EXPECT_GT(number, before);
    before = number;
  }
}

TEST_F(RecorderTest, WhoIsKilledLosesNothingThatWasRecorded) {
  EXPECT_EQ(signal_that_ends([&] {
              Recorder recorder("p", path());
              for (int i = 0; i < 100; ++i) recorder.record(history::Lost{Stamp{i + 1}});
              static_cast<void>(raise(SIGKILL));
            }),
            SIGKILL);
  EXPECT_EQ(recorded().events.size(), 100U);
}

TEST_F(RecorderTest, WhatCantBeWrittenEndsTheProcess) {
  EXPECT_EQ(signal_that_ends([&] {
              Recorder recorder("p", path());
              const rlimit none{0, RLIM_INFINITY};  // the limit for the size of any file
              setrlimit(RLIMIT_CORE, &none);
              setrlimit(RLIMIT_FSIZE, &none);
              static_cast<void>(std::signal(SIGXFSZ, SIG_IGN));
              recorder.record(history::SeenBegin{});
            }),
            SIGABRT);
  EXPECT_TRUE(recorded().events.empty());
}

TEST_F(RecorderTest, AnOlderHistoryIsNotTouched) {
  std::ofstream(path()) << "something";
  EXPECT_THROW(Recorder("p", path()), std::runtime_error);
  EXPECT_EQ(std::filesystem::file_size(path()), 9U);
}

}  // namespace
}  // namespace lockset::test
