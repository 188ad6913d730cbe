#include "tests/support/forked.h"

#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

namespace lockset::test {
namespace {

void close_end(int& end) {
  if (end >= 0) ::close(end);
  end = -1;
}

}  // namespace

pid_t start_child(const std::function<int()>& body) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  alarm(60);
  try {
    _exit(body());
  } catch (...) {
    _exit(99);
  }
}

int end_of(pid_t child) {
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int in_child(const std::function<int()>& body) { return end_of(start_child(body)); }

Signal::Signal() {
  if (pipe(ends_) != 0) throw std::runtime_error("no pipe");
}

Signal::~Signal() {
  for (int& end : ends_) close_end(end);
}

void Signal::only_sends() { close_end(ends_[0]); }
void Signal::only_hears() { close_end(ends_[1]); }
bool Signal::send() const { return ::write(ends_[1], "x", 1) == 1; }

bool Signal::heard() const {
  char byte = 0;
  return ::read(ends_[0], &byte, 1) == 1;
}

}  // namespace lockset::test
