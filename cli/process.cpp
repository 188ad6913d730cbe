#include "cli/process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace lockset::cli {
namespace {

bool limit_was_default = false;

bool closed(int fd) { return ::fcntl(fd, F_GETFD) < 0 && errno == EBADF; }

}  // namespace

void settle_process() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    // Opened for the wrong direction, so that its use fails with EBADF. open() takes the lowest
    // free descriptor.
    if (closed(fd)) ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
  struct sigaction before {};
  limit_was_default = ::sigaction(SIGXFSZ, nullptr, &before) == 0 && before.sa_handler == SIG_DFL;
  if (limit_was_default) ::signal(SIGXFSZ, SIG_IGN);
}

void unsettle_process() {
  if (limit_was_default) ::signal(SIGXFSZ, SIG_DFL);
}

bool adopts_orphans() {
  int subreaper = 0;
  return ::getpid() == 1 || (::prctl(PR_GET_CHILD_SUBREAPER, &subreaper) == 0 && subreaper != 0);
}

std::optional<pid_t> ended_child() {
  siginfo_t info{};
  if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return {};
  return info.si_pid;
}

}  // namespace lockset::cli
