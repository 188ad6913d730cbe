#include "tests/support/cut_connections.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>

namespace lockset::test {

namespace {

namespace fs = std::filesystem;

// "socket:[INODE]" for each connection with this local port, and for the listener.
std::set<std::string> sockets_of(std::uint16_t port, bool listening) {
  std::set<std::string> links;
  for (const char* const table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream lines(table);
    std::string line;
    std::getline(lines, line);  // the headings
    while (std::getline(lines, line)) {
      std::istringstream words(line);
      std::string slot;
      std::string local;
      std::string remote;
      std::string state;
      std::string skipped;
      std::string inode;
      words >> slot >> local >> remote >> state;
      for (int i = 0; i < 5; ++i) words >> skipped;
      words >> inode;
      const std::string local_port = local.substr(local.rfind(':') + 1);
      const bool wanted = listening ? state == "0A" : state == "01";
      if (wanted && std::stoul(local_port, nullptr, 16) == port) {
        links.insert("socket:[" + inode + "]");
      }
    }
  }
  return links;
}

// The descriptors of a process that refer to these sockets.
std::set<int> descriptors_of(const fs::path& process, const std::set<std::string>& links) {
  std::set<int> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(process / "fd", error)) {
    const std::string link = fs::read_symlink(entry.path(), error).string();
    if (links.contains(link)) found.insert(std::stoi(entry.path().filename()));
  }
  return found;
}

// The process that listens on this port.
fs::path process_of(std::uint16_t port) {
  const std::set<std::string> listener = sockets_of(port, true);
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (!std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c); })) {
      continue;
    }
    if (!descriptors_of(entry.path(), listener).empty()) return entry.path();
  }
  throw std::runtime_error("no process is seen to listen on port " + std::to_string(port));
}

[[noreturn]] void fail(const char* what) {
  throw std::runtime_error(std::string("connections can't be cut: ") + what + ": " +
                           std::strerror(errno));
}

class Descriptor {
 public:
  Descriptor(long value, const char* what) : value_(static_cast<int>(value)) {
    if (value_ < 0) fail(what);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(value_); }
  [[nodiscard]] int value() const { return value_; }

 private:
  int value_;
};

}  // namespace

std::size_t cut_connections(std::uint16_t server_port) {
  const fs::path process = process_of(server_port);
  const Descriptor handle(syscall(SYS_pidfd_open, std::stoi(process.filename()), 0), "pidfd_open");
  std::size_t count = 0;
  for (const int theirs : descriptors_of(process, sockets_of(server_port, false))) {
    // It may have been closed since it was listed.
    const long copy = syscall(SYS_pidfd_getfd, handle.value(), theirs, 0);
    if (copy < 0 && errno == EBADF) continue;
    const Descriptor ours(copy, "pidfd_getfd");
    if (shutdown(ours.value(), SHUT_RDWR) == 0) ++count;
  }
  return count;
}

}  // namespace lockset::test
