#include "tools/child.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <thread>

namespace lockset::tools {

namespace {

[[noreturn]] void fail(const std::string& what, int code) {
  throw std::runtime_error(what + ": " + std::strerror(code));
}

int exit_code(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

Child::Child(std::vector<std::string> argv) {
  int in[2];
  int out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) fail("pipe", errno);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  // Otherwise a proxy's connection would stay open as long as the child lives.
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  std::vector<char*> words;
  words.reserve(argv.size() + 1);
  for (std::string& word : argv) words.push_back(word.data());
  words.push_back(nullptr);
  const int code = posix_spawn(&pid_, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(in[0]);
  ::close(out[1]);
  to_child_ = in[1];
  from_child_ = out[0];
  if (code != 0) {
    pid_ = -1;
    close_pipes();
    fail("can't start " + argv[0], code);
  }
}

Child::~Child() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    int status = 0;
    waitpid(pid_, &status, 0);
  }
  close_pipes();
}

void Child::close_input() {
  if (to_child_ >= 0) ::close(to_child_);
  to_child_ = -1;
}

void Child::close_pipes() {
  close_input();
  if (from_child_ >= 0) ::close(from_child_);
  from_child_ = -1;
}

void Child::send(const std::string& line) {
  const std::string text = line + "\n";
  // If the reader is dead, there is no answer, and receive() reports that.
  std::signal(SIGPIPE, SIG_IGN);
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t wrote = ::write(to_child_, text.data() + at, text.size() - at);
    if (wrote < 0) fail("writing to the child", errno);
    at += static_cast<std::size_t>(wrote);
  }
}

std::string Child::receive(Duration limit) {
  const TimePoint until = BootClock::now() + limit;
  for (;;) {
    const std::size_t end = unread_.find('\n');
    if (end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - BootClock::now());
    if (left.count() <= 0) throw std::runtime_error("the child does not answer");
    pollfd ready{from_child_, POLLIN, 0};
    if (poll(&ready, 1, static_cast<int>(left.count())) <= 0) continue;
    char buffer[4096];
    const ssize_t got = ::read(from_child_, buffer, sizeof buffer);
    if (got <= 0) throw std::runtime_error("the child ended without an answer");
    unread_.append(buffer, static_cast<std::size_t>(got));
  }
}

std::string Child::ask(const std::string& line) {
  send(line);
  return receive();
}

void Child::kill() {
  ::kill(pid_, SIGKILL);
  wait();
}

void Child::stop() {
  ::kill(pid_, SIGSTOP);
  int status = 0;
  if (waitpid(pid_, &status, WUNTRACED) != pid_) fail("waiting for the child to stop", errno);
  if (!WIFSTOPPED(status)) {
    pid_ = -1;
    throw std::runtime_error("the child ended instead of stopping");
  }
}

void Child::go_on() { ::kill(pid_, SIGCONT); }

int Child::wait(Duration limit) {
  int status = 0;
  const TimePoint until = BootClock::now() + limit;
  for (;;) {
    const pid_t got = waitpid(pid_, &status, WNOHANG);
    if (got == pid_) break;
    if (got < 0) fail("waiting for the child", errno);
    if (BootClock::now() > until) throw std::runtime_error("the child does not end");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  pid_ = -1;
  return exit_code(status);
}

}  // namespace lockset::tools
