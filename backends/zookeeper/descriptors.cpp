#include "backends/zookeeper/descriptors.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <new>
#include <utility>
#include <vector>

namespace lockset::zookeeper {
namespace {

// A forked child gets a new one: the parent's may have been locked just then, by a thread that
// the child does not have.
alignas(std::mutex) unsigned char room_for_mutex[sizeof(std::mutex)];

std::mutex* make_mutex() { return new (room_for_mutex) std::mutex; }

std::mutex& one_at_a_time() {
  static std::mutex* const mutex = [] {
    pthread_atfork(nullptr, nullptr, [] { make_mutex(); });
    return make_mutex();
  }();
  return *mutex;
}

std::set<int> open_descriptors() {
  std::set<int> all;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc/self/fd", error), end;
       !error && entry != end; entry.increment(error)) {
    all.insert(std::atoi(entry->path().filename().c_str()));
  }
  // One of them was of the list itself.
  std::erase_if(all, [](int descriptor) { return fcntl(descriptor, F_GETFD) < 0; });
  return all;
}

bool is_a(int descriptor, mode_t type) {
  struct stat stat {};
  return fstat(descriptor, &stat) == 0 && (stat.st_mode & S_IFMT) == type;
}

ino_t inode_of(int descriptor) {
  struct stat stat {};
  return fstat(descriptor, &stat) == 0 ? stat.st_ino : 0;
}

void set_close_on_exec(int descriptor) {
  const int flags = fcntl(descriptor, F_GETFD);
  if (flags >= 0) fcntl(descriptor, F_SETFD, flags | FD_CLOEXEC);
}

}  // namespace

NewPipes::NewPipes() : lock_(one_at_a_time()), before_(open_descriptors()) {}

void NewPipes::close_on_exec() const {
  std::map<ino_t, std::vector<int>> pipes;
  for (const int descriptor : open_descriptors()) {
    if (before_.contains(descriptor) || !is_a(descriptor, S_IFIFO)) continue;
    const int flags = fcntl(descriptor, F_GETFL);
    if (flags >= 0 && (flags & O_NONBLOCK) != 0) pipes[inode_of(descriptor)].push_back(descriptor);
  }
  for (const auto& [inode, ends] : pipes) {
    if (ends.size() != 2) continue;
    for (const int end : ends) set_close_on_exec(end);
  }
}

void sockets_close_on_exec(const sockaddr* peer, socklen_t length) {
  for (const int descriptor : open_descriptors()) {
    if (!is_a(descriptor, S_IFSOCK)) continue;
    sockaddr_storage other{};
    socklen_t other_length = sizeof other;
    if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&other), &other_length) != 0) continue;
    if (other_length == length && std::memcmp(&other, peer, length) == 0) {
      set_close_on_exec(descriptor);
    }
  }
}

}  // namespace lockset::zookeeper
