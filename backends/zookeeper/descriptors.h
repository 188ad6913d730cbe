// Keeps the client library's descriptors from the programs that this process starts: the library
// opens them without close-on-exec, and does not report them.
#pragma once

#include <sys/socket.h>

#include <map>
#include <mutex>
#include <string>

namespace lockset::zookeeper {

// Between its construction and close_on_exec(), make one handle of the client library; the handle's
// threads wake each other through a pipe. One at a time in a process.
class NewPipes {
 public:
  NewPipes();
  NewPipes(const NewPipes&) = delete;
  NewPipes& operator=(const NewPipes&) = delete;

  // All pipes made since then that look like the library's: both ends are here, and non-blocking.
  void close_on_exec() const;

 private:
  std::unique_lock<std::mutex> lock_;
  std::map<int, std::string> before_;
};

// All sockets of this process that are connected to this address. Only connected sockets can be
// found: a program that is started before that inherits the socket.
void sockets_close_on_exec(const sockaddr* peer, socklen_t length);

}  // namespace lockset::zookeeper
