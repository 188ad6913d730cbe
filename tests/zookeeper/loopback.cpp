#include "tests/zookeeper/loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>

namespace lockset::test {

std::string say_to(std::uint16_t port, const std::string& bytes) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval limit{20, 0};
  std::string answer;
  bool good =
      fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0 &&
      connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  std::array<char, 4096> buffer{};
  while (good) {
    const ssize_t got = recv(fd, buffer.data(), buffer.size(), 0);
    // A reset is an end too.
    if (got == 0 || (got < 0 && errno == ECONNRESET)) break;
    good = got > 0;
    if (good) answer.append(buffer.data(), static_cast<std::size_t>(got));
  }
  if (fd >= 0) close(fd);
  if (!good) throw std::runtime_error("no word from the server at port " + std::to_string(port));
  return answer;
}

}  // namespace lockset::test
