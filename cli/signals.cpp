#include "cli/signals.h"

#include <string.h>
#include <sys/signalfd.h>

#include <cerrno>

#include "tools/failure.h"

namespace lockset::cli {

using namespace tools;
namespace {

constexpr int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
constexpr int passed_on[] = {SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP};

bool ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

Signals::Signals() {
  // With an inherited SIG_IGN the kernel would reap our child before we do.
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &action, nullptr);

  sigset_t watched;
  ::sigemptyset(&watched);
  ::sigaddset(&watched, SIGCHLD);
  ::sigaddset(&watched, SIGCONT);
  for (const int signal : ending) {
    if (!ignored(signal)) ::sigaddset(&watched, signal);
  }
  for (const int signal : passed_on) {
    if (!ignored(signal)) ::sigaddset(&watched, signal);
  }
  sigset_t blocked = watched;
  ::sigaddset(&blocked, SIGPIPE);
  // Taking the terminal back while in the background must not stop us.
  ::sigaddset(&blocked, SIGTTOU);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &original_);
  fd_ = FileDescriptor(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd_) fail_system("open a file descriptor", errno);
}

std::optional<int> Signals::next() {
  signalfd_siginfo info;
  for (;;) {
    const ssize_t count = ::read(fd_.get(), &info, sizeof info);
    if (count == static_cast<ssize_t>(sizeof info)) return static_cast<int>(info.ssi_signo);
    if (count < 0 && errno == EINTR) continue;
    return {};
  }
}

bool Signals::stop_self() {
  sigset_t stop;
  ::sigemptyset(&stop);
  ::sigaddset(&stop, SIGTSTP);
  ::kill(::getpid(), SIGTSTP);
  // The signal is delivered, and the whole process stopped, before this call returns.
  ::pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);
  ::pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  // We were continued by a SIGCONT, which is blocked here and therefore still pending.
  sigset_t pending;
  ::sigemptyset(&pending);
  ::sigpending(&pending);
  return ::sigismember(&pending, SIGCONT) == 1;
}

bool asks_to_end(int signal) noexcept {
  for (const int each : ending) {
    if (each == signal) return true;
  }
  return false;
}

bool is_forwarded(int signal) noexcept {
  for (const int each : passed_on) {
    if (each == signal) return true;
  }
  return asks_to_end(signal);
}

std::string signal_name(int signal) {
  const char* const name = ::sigabbrev_np(signal);
  return name != nullptr ? "SIG" + std::string(name) : "signal " + std::to_string(signal);
}

}  // namespace lockset::cli
