#include "backends/redis/open_socket.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <system_error>

#include "backends/redis/errors.h"
#include "core/shortage.h"

namespace lockset::redis {
namespace {

std::string reason(int number) { return std::system_category().message(number); }

// Returns 0 or the errno. The socket is blocking again afterwards.
int connect_by(int fd, const sockaddr* address, socklen_t size, TimePoint by) {
  if (::connect(fd, address, size) != 0) {
    if (errno != EINPROGRESS) return errno;
    for (;;) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(by - BootClock::now()).count();
      if (left <= 0) return ETIMEDOUT;
      pollfd look{fd, POLLOUT, 0};
      const int ready = ::poll(&look, 1, static_cast<int>(std::min<long>(left, 1'000'000)));
      if (ready > 0) break;
      if (ready < 0 && errno != EINTR) return errno;
    }
    int trouble = 0;
    socklen_t length = sizeof trouble;
    ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &trouble, &length);
    if (trouble != 0) return trouble;
  }
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  return 0;
}

void set(int fd, int level, int option, int value) {
  ::setsockopt(fd, level, option, &value, sizeof value);
}

// Returns the socket, or minus the errno.
int open_one(int family, const sockaddr* address, socklen_t size, TimePoint by) {
  const int fd = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -errno;
  if (const int trouble = connect_by(fd, address, size, by); trouble != 0) {
    ::close(fd);
    return -trouble;
  }
  if (family != AF_UNIX) {
    set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    // A peer that has vanished is detected within half a minute.
    set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set(fd, IPPROTO_TCP, TCP_KEEPIDLE, 15);
    set(fd, IPPROTO_TCP, TCP_KEEPINTVL, 5);
    set(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
  }
  return fd;
}

Error no_server(const Options& options, int trouble) {
  if (trouble == EMFILE || trouble == ENFILE) {
    return Error{Errc::unavailable,
                 options.shown() + ": can't open a socket: " + text_of_errno(trouble)};
  }
  return Error{Errc::unavailable,
               options.shown() + ": no server can be reached: does it run, and is the address " +
                   "right? (" + reason(trouble) + ")"};
}

Result<int> open_local(const Options& options, TimePoint by) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (options.socket.size() >= sizeof address.sun_path) {
    return Error{Errc::invalid, "the path of the socket is too long: " + options.socket};
  }
  std::memcpy(address.sun_path, options.socket.data(), options.socket.size());
  const int fd = open_one(AF_UNIX, reinterpret_cast<const sockaddr*>(&address), sizeof address, by);
  if (fd < 0) return no_server(options, -fd);
  return fd;
}

}  // namespace

Result<int> open_socket(const Options& options, TimePoint by) {
  if (!options.socket.empty()) return open_local(options, by);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(options.server.port);
  if (const int failed = ::getaddrinfo(options.server.host.c_str(), port.c_str(), &hints, &found)) {
    return Error{Errc::unavailable, options.shown() +
                                        ": the host name is not known: check the address (" +
                                        std::string(::gai_strerror(failed)) + ")"};
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, &::freeaddrinfo);
  int trouble = ENOENT;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    const int fd = open_one(one->ai_family, one->ai_addr, one->ai_addrlen, by);
    if (fd >= 0) return fd;
    trouble = -fd;
  }
  return no_server(options, trouble);
}

}  // namespace lockset::redis
