#include "tests/chaos/process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <thread>

extern char** environ;

namespace lockset::chaos {
namespace {

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

// Runs in the child between fork and exec: uses nothing that another thread's lock could block.
[[noreturn]] void become(char* const* argv, char* const* environment, int output, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  std::signal(SIGINT, SIG_DFL);
  const int nothing = ::open("/dev/null", O_RDONLY);
  dup2(nothing, 0);
  dup2(output, 1);
  dup2(output, 2);
  // Otherwise the connections of this process, including its proxies', would stay open as long as
  // the child lives, even after they are closed here.
  closefrom(3);
  execve(argv[0], argv, environment);
  _exit(127);
}

}  // namespace

Process::Process(std::vector<std::string> argv, std::vector<std::string> environment,
                 const std::string& output) {
  for (char** each = environ; *each != nullptr; ++each) environment.emplace_back(*each);
  const std::vector<char*> words = pointers(argv);
  const std::vector<char*> variables = pointers(environment);
  const int file = ::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) fail("can't write " + output);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) become(words.data(), variables.data(), file, parent);
  const int code = errno;
  ::close(file);
  errno = code;
  if (pid_ < 0) fail("can't start " + argv[0]);
}

Process::~Process() {
  if (pid_ > 0) kill();
}

void Process::kill() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  pid_ = -1;
}

void Process::stop() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGSTOP);
  int status = 0;
  while (waitpid(pid_, &status, WUNTRACED) < 0 && errno == EINTR) {
  }
  if (WIFSTOPPED(status)) return;
  code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  pid_ = -1;
}

void Process::go_on() {
  if (pid_ > 0) ::kill(pid_, SIGCONT);
}

std::optional<int> Process::ended() {
  int status = 0;
  if (pid_ > 0 && waitpid(pid_, &status, WNOHANG) == pid_) {
    code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    pid_ = -1;
  }
  return code_;
}

std::optional<int> Process::ended(TimePoint until) {
  while (!ended() && BootClock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return code_;
}

}  // namespace lockset::chaos
