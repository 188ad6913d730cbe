// Signals belong to the program: a thread that waits for them with sigwait must get them.
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "tests/conformance/suite.h"

namespace lockset::conformance {
namespace {

class Signals : public Conformance {};

std::set<std::string> threads_of_this_process() {
  std::set<std::string> all;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    all.insert(entry.path().filename());
  }
  return all;
}

// The signals that the thread has blocked, as bits. All bits if it has ended meanwhile.
unsigned long long blocked_in(const std::string& thread) {
  std::ifstream status("/proc/self/task/" + thread + "/status");
  constexpr std::string_view key = "SigBlk:";
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key)) return std::strtoull(line.c_str() + key.size(), nullptr, 16);
  }
  return ~0ULL;
}

TEST_P(Signals, AreLeftToTheProgramsOwnThreads) {
  client().take({write("elsewhere")});  // starts whatever the harness itself needs
  const std::set<std::string> before = threads_of_this_process();
  Locks mine = locks({.lease = 1min});
  const Hold hold = mine.acquire({write("a")}).value();
  // Starts the threads that wait and listen.
  const Result<Hold> waited = mine.acquire({write("a")}, {.wait = 500ms});
  EXPECT_EQ(waited.ok() ? Errc::internal : waited.error().code, Errc::timeout);
  int ours = 0;
  for (const std::string& thread : threads_of_this_process()) {
    if (before.contains(thread)) continue;
    ++ours;
    const unsigned long long blocked = blocked_in(thread);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGCHLD, SIGALRM}) {
      EXPECT_TRUE(blocked >> (signal - 1) & 1U) << "signal " << signal << ", thread " << thread;
    }
  }
  EXPECT_GE(ours, 2) << "those that renew and watch";
}

LOCKSET_CONFORMANCE_SUITE(Signals);

}  // namespace
}  // namespace lockset::conformance
