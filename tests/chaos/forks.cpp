#include "tests/chaos/forks.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <thread>

#include "lockset/registry.h"

namespace lockset::chaos {

using namespace std::chrono_literals;

namespace {

// How long a child may take to release its holds and end.
constexpr Duration time_to_end = 60s;

std::int64_t count_ms(Duration time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

// The store refuses a process that was forked while the space was open, or its client library may
// hang in such a child (docs/backends/zookeeper.md): exec avoids both.
bool has_to_exec(const WorkerOptions& options) {
  if (options.url.starts_with("zookeeper:")) return true;
  const auto opened = open_backend(options.url, BootClock::now() + 5 * options.io_timeout);
  return !opened && opened.error().code == Errc::misconfigured &&
         opened.error().message.find("fork") != std::string::npos;
}

}  // namespace

Forks::Forks(const WorkerOptions& parent, test::Recorder& recorder, std::function<bool()> stop)
    : parent_(parent), recorder_(recorder), stop_(std::move(stop)) {}

void Forks::fork_one(std::uint64_t seed, Duration time) {
  if (child_ > 0 && !reaped(false)) return;
  const std::string name = parent_.process + "." + std::to_string(++made_);
  const pid_t parent = getpid();
  recorder_.record(history::FaultBegin{"fork"});
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error(std::string("can't fork: ") + std::strerror(errno));
  if (child == 0) live(name, seed, time, parent);
  recorder_.record(history::FaultEnd{"fork"});
  child_ = child;
  name_ = name;
  std::printf("forked %s\n", name.c_str());
  std::fflush(stdout);
}

// Touches and ends nothing of the parent's: its threads do not exist here.
void Forks::live(const std::string& name, std::uint64_t seed, Duration time, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  int code = 1;
  try {
    WorkerOptions mine = parent_;
    mine.process = name;
    mine.seed = seed;
    mine.forks = mine.closes = false;
    mine.threads = 1;
    if (has_to_exec(mine)) become(mine, time);
    const TimePoint end = BootClock::now() + time;
    work(mine, std::make_shared<test::Recorder>(name, mine.log_of(name)),
         [&] { return BootClock::now() > end || stop_(); });
    code = 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), error.what());
  }
  _exit(code);
}

void Forks::become(const WorkerOptions& options, Duration time) {
  std::printf("exec %s\n", options.process.c_str());
  std::fflush(stdout);
  std::vector<std::string> words{"/proc/self/exe",
                                 "--log=" + options.log_of(options.process),
                                 "--process=" + options.process,
                                 "--seed=" + std::to_string(options.seed),
                                 "--names=" + std::to_string(options.names),
                                 "--resource=" + options.resource,
                                 "--lease=" + std::to_string(count_ms(options.lease)),
                                 "--io-timeout=" + std::to_string(count_ms(options.io_timeout)),
                                 "--threads=" + std::to_string(options.threads),
                                 "--stop=" + options.stop,
                                 "--for=" + std::to_string(count_ms(time))};
  if (options.lost_state) words.emplace_back("--lost-state");
  if (options.unfit) words.emplace_back("--unfit");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  throw std::runtime_error(std::string("can't become a worker: ") + std::strerror(errno));
}

bool Forks::reaped(bool wait) {
  const TimePoint limit = BootClock::now() + (wait ? time_to_end : Duration::zero());
  int status = 0;
  while (waitpid(child_, &status, WNOHANG) != child_) {
    if (BootClock::now() >= limit) return false;
    std::this_thread::sleep_for(2ms);
  }
  child_ = -1;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
  throw std::runtime_error(
      "the fork " + name_ + " ended with " +
      std::to_string(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status)));
}

void Forks::finish() {
  if (child_ > 0 && !reaped(true)) throw std::runtime_error("the fork " + name_ + " does not end");
}

}  // namespace lockset::chaos
