#include "backends/zookeeper/refusal.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

namespace lockset::zookeeper {
namespace {

// A refusal arrives within a round trip.
constexpr int round_trip_ms = 200;

bool refuses(const addrinfo& address) {
  const int fd = ::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno == EAFNOSUPPORT;
  int error = ::connect(fd, address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
  pollfd events{fd, POLLOUT, 0};
  if (error == EINPROGRESS && ::poll(&events, 1, round_trip_ms) == 1) {
    socklen_t size = sizeof error;
    ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  }
  ::close(fd);
  return error == ECONNREFUSED;
}

bool refuses(std::string host, const std::string& port) {
  if (host.size() > 1 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) return false;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, &::freeaddrinfo);
  for (const addrinfo* each = all.get(); each != nullptr; each = each->ai_next) {
    if (!refuses(*each)) return false;
  }
  return true;
}

}  // namespace

bool all_refuse(const std::string& hosts) {
  std::size_t at = 0;
  for (;;) {
    const std::size_t end = std::min(hosts.find(',', at), hosts.size());
    const std::string server = hosts.substr(at, end - at);
    const std::size_t colon = server.rfind(':');
    if (colon == std::string::npos) return false;
    if (!refuses(server.substr(0, colon), server.substr(colon + 1))) return false;
    if (end == hosts.size()) return true;
    at = end + 1;
  }
}

}  // namespace lockset::zookeeper
