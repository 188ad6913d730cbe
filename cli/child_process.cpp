#include "cli/child_process.h"

#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "cli/process.h"
#include "tools/failure.h"

namespace lockset::cli {

using namespace tools;
namespace {

// Everything that the child needs, made before the fork: after it, because there may be threads,
// only async-signal-safe calls are allowed.
struct Image {
  std::vector<std::string> texts;
  std::vector<char*> arguments;
  std::vector<char*> environment;
};

Image image_of(const ChildPlan& plan) {
  Image image;
  for (const auto& [name, value] : plan.environment) {
    image.texts.push_back(name);
    image.texts.back().append("=").append(value);
  }
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    const std::string_view entry(*each);
    const std::string_view name = entry.substr(0, entry.find('='));
    bool replaced = false;
    for (const auto& added : plan.environment) replaced = replaced || added.first == name;
    if (!replaced) image.environment.push_back(*each);
  }
  // execve wants char*, and changes nothing.
  for (std::string& text : image.texts) image.environment.push_back(text.data());
  image.environment.push_back(nullptr);
  for (const std::string& word : plan.command) {
    image.arguments.push_back(const_cast<char*>(word.c_str()));
  }
  image.arguments.push_back(nullptr);
  return image;
}

// Runs in the child. Async-signal-safe calls only (execvpe of glibc is: it uses the stack).
[[noreturn]] void become(const Image& image, const ChildPlan& plan, int channel, pid_t parent) {
  constexpr int given_up = 127;
  ::setpgid(0, 0);
  if (plan.death_signal != 0) {
    ::prctl(PR_SET_PDEATHSIG, plan.death_signal);
    // The parent may have died just before.
    if (::getppid() != parent) ::_exit(given_up);
  }
  char go = 0;
  ssize_t count;
  do {
    count = ::recv(channel, &go, 1, 0);
  } while (count < 0 && errno == EINTR);
  if (count != 1) ::_exit(given_up);
  unsettle_process();
  ::sigprocmask(SIG_SETMASK, &plan.mask, nullptr);
  ::execvpe(image.arguments[0], image.arguments.data(), image.environment.data());
  const int error = errno;
  [[maybe_unused]] const ssize_t sent = ::send(channel, &error, sizeof error, MSG_NOSIGNAL);
  ::_exit(given_up);
}

}  // namespace

ChildProcess::ChildProcess(const ChildPlan& plan) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    fail_system("make a pair of sockets", errno);
  }
  channel_ = FileDescriptor(ends[0]);
  FileDescriptor childs(ends[1]);
  const Image image = image_of(plan);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) {
    fail_system("start another process", errno);
  }
  if (pid_ == 0) {
    ::close(ends[0]);  // otherwise it would never see us die
    become(image, plan, ends[1], parent);
  }
  // The child does this too: whichever process is first, the group exists when this returns.
  ::setpgid(pid_, pid_);
}

ChildProcess::~ChildProcess() {
  if (pid_ <= 0 || ended_) return;
  channel_.close();
  ::kill(-pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

int ChildProcess::start() {
  const char go = 1;
  if (::send(channel_.get(), &go, 1, MSG_NOSIGNAL) != 1) return ECHILD;
  int error = 0;
  ssize_t count;
  do {
    count = ::recv(channel_.get(), &error, sizeof error, 0);
  } while (count < 0 && errno == EINTR);
  // The exec closed the channel: success. A child that was killed earlier looks the same; poll()
  // reports it.
  if (count != static_cast<ssize_t>(sizeof error)) error = 0;
  channel_.close();
  return error;
}

std::optional<int> ChildProcess::poll() {
  if (ended_) return {};
  int status = 0;
  pid_t got;
  do {
    got = ::waitpid(pid_, &status, WNOHANG | WUNTRACED);
  } while (got < 0 && errno == EINTR);
  if (got != pid_) return {};
  if (WIFEXITED(status) || WIFSIGNALED(status)) ended_ = true;
  return status;
}

bool ChildProcess::signal(int number) const noexcept {
  // After the leader ended, the number stays taken as long as the group has members.
  return ::kill(-pid_, number) == 0;
}

bool ChildProcess::group_alive() const noexcept { return ::kill(-pid_, 0) == 0 || errno == EPERM; }

}  // namespace lockset::cli
