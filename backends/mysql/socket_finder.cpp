#include "backends/mysql/socket_finder.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <memory>
#include <utility>

#include "backends/server/descriptors.h"

namespace lockset::mysql {
namespace {

std::unique_lock<std::timed_mutex> turn_for(const std::string& address, TimePoint by) {
  static std::mutex mutex;
  // Entries are never removed: there are few addresses.
  static auto& turns = *new std::map<std::string, std::unique_ptr<std::timed_mutex>>();
  std::timed_mutex* turn = nullptr;
  {
    const std::lock_guard lock(mutex);
    std::unique_ptr<std::timed_mutex>& entry = turns[address];
    if (!entry) entry = std::make_unique<std::timed_mutex>();
    turn = entry.get();
  }
  return std::unique_lock(*turn, by - BootClock::now());
}

std::map<int, std::string> open_sockets() { return server::open_descriptors("socket:"); }

struct Address {
  sockaddr_storage storage{};
  socklen_t size = sizeof(sockaddr_storage);
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  // 0 if it is not a TCP address.
  [[nodiscard]] std::uint16_t port() const {
    if (storage.ss_family == AF_INET) {
      return ntohs(reinterpret_cast<const sockaddr_in&>(storage).sin_port);
    }
    if (storage.ss_family == AF_INET6) {
      return ntohs(reinterpret_cast<const sockaddr_in6&>(storage).sin6_port);
    }
    return 0;
  }
};

bool leads_to(int fd, std::uint16_t port, const std::string& path) {
  Address peer;
  if (::getpeername(fd, peer.get(), &peer.size) != 0) return false;
  if (path.empty()) return peer.port() == port;
  return peer.storage.ss_family == AF_UNIX &&
         path == reinterpret_cast<const sockaddr_un&>(peer.storage).sun_path;
}

}  // namespace

SocketFinder::SocketFinder(const std::string& host, std::uint16_t port, std::string path,
                           TimePoint by)
    : port_(port),
      path_(std::move(path)),
      turn_(turn_for(path_.empty() ? host + ":" + std::to_string(port) : path_, by)),
      before_(open_sockets()) {}

std::vector<int> SocketFinder::candidates() const {
  std::vector<int> found;
  for (const auto& [fd, inode] : open_sockets()) {
    const auto known = before_.find(fd);
    const bool is_new = known == before_.end() || known->second != inode;
    if (is_new && leads_to(fd, port_, path_)) found.push_back(fd);
  }
  return found;
}

std::optional<int> SocketFinder::with_local_port(const std::vector<int>& fds, std::uint16_t port) {
  for (const int fd : fds) {
    Address own;
    if (::getsockname(fd, own.get(), &own.size) == 0 && own.port() == port) return fd;
  }
  return {};
}

}  // namespace lockset::mysql
