// Keeps the client library's descriptors from the programs that this process starts: it opens
// them without close-on-exec, and does not show them.
#pragma once

#include <sys/socket.h>

#include <map>
#include <mutex>
#include <string>

namespace lockset::zookeeper {

// Between its construction and close_on_exec() one handle of the client library is made, whose
// threads wake each other through a pipe. One at a time in a process.
class NewPipes {
 public:
  NewPipes();
  NewPipes(const NewPipes&) = delete;
  NewPipes& operator=(const NewPipes&) = delete;

  // All pipes made since that look like the library's: both ends here, and non-blocking.
  void close_on_exec() const;

 private:
  std::unique_lock<std::mutex> lock_;
  std::map<int, std::string> before_;
};

// All sockets of this process that are connected to this address. A socket is the library's own
// secret until it is connected: a program started just then inherits it.
void sockets_close_on_exec(const sockaddr* peer, socklen_t length);

}  // namespace lockset::zookeeper
