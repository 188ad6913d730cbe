#include "backends/zookeeper/descriptors.h"

#include <fcntl.h>
#include <pthread.h>

#include <cstring>
#include <map>
#include <new>
#include <vector>

#include "backends/server/descriptors.h"

namespace lockset::zookeeper {
namespace {

// A forked child gets a new mutex: at the fork, a thread that the child does not have may have
// locked the parent's.
alignas(std::mutex) unsigned char room_for_mutex[sizeof(std::mutex)];

std::mutex* make_mutex() { return new (room_for_mutex) std::mutex; }

std::mutex& one_at_a_time() {
  static std::mutex* const mutex = [] {
    pthread_atfork(nullptr, nullptr, [] { make_mutex(); });
    return make_mutex();
  }();
  return *mutex;
}

void set_close_on_exec(int descriptor) {
  const int flags = fcntl(descriptor, F_GETFD);
  if (flags >= 0) fcntl(descriptor, F_SETFD, flags | FD_CLOEXEC);
}

}  // namespace

NewPipes::NewPipes() : lock_(one_at_a_time()), before_(server::open_descriptors("pipe:")) {}

void NewPipes::close_on_exec() const {
  std::map<std::string, std::vector<int>> pipes;
  for (const auto& [descriptor, inode] : server::open_descriptors("pipe:")) {
    const auto known = before_.find(descriptor);
    if (known != before_.end() && known->second == inode) continue;
    const int flags = fcntl(descriptor, F_GETFL);
    if (flags >= 0 && (flags & O_NONBLOCK) != 0) pipes[inode].push_back(descriptor);
  }
  for (const auto& [inode, ends] : pipes) {
    if (ends.size() != 2) continue;
    for (const int end : ends) set_close_on_exec(end);
  }
}

void sockets_close_on_exec(const sockaddr* peer, socklen_t length) {
  for (const auto& [descriptor, inode] : server::open_descriptors("socket:")) {
    sockaddr_storage other{};
    socklen_t other_length = sizeof other;
    if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&other), &other_length) != 0) continue;
    if (other_length == length && std::memcmp(&other, peer, length) == 0) {
      set_close_on_exec(descriptor);
    }
  }
}

}  // namespace lockset::zookeeper
