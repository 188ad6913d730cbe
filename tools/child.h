// A child program that is controlled by lines: commands to its stdin, answers from its stdout.
// Every wait has a limit.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "lockset/clock.h"

namespace lockset::tools {

// Throws std::runtime_error if the child can't be started or does not answer. Not thread-safe.
class Child {
 public:
  explicit Child(std::vector<std::string> argv);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  // Kills and reaps the child if it still runs.
  ~Child();

  void send(const std::string& line);
  // The next line, without its newline.
  std::string receive(Duration limit = std::chrono::seconds(20));
  // send, then receive.
  std::string ask(const std::string& line);

  void close_input();  // the child reads the end of its stdin
  void kill();         // SIGKILL, and waits until it is dead
  void stop();         // SIGSTOP, and waits until the child is stopped
  void go_on();        // SIGCONT
  // Waits until it ends; returns the exit code, or 128 + the signal.
  int wait(Duration limit = std::chrono::seconds(30));

 private:
  void close_pipes();

  pid_t pid_ = -1;
  int to_child_ = -1;
  int from_child_ = -1;
  std::string unread_;
};

}  // namespace lockset::tools
