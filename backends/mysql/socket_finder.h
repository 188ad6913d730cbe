// Finds the socket of a connection that a client library has opened without reporting it: only
// through the socket its calls can get a deadline.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "lockset/clock.h"

namespace lockset::mysql {

// One search: made before connecting, asked afterwards. Searches for one address run one after the
// other, so a hanging server delays other connections to that address by up to their
// connect_timeout. Searches for different addresses don't affect each other.
class SocketFinder {
 public:
  // `path`: the path of a Unix socket, or "" for TCP to `port`. Waits for its turn until `by`.
  SocketFinder(const std::string& host, std::uint16_t port, std::string path, TimePoint by);

  // False: `by` came first, while another search for this address hung.
  [[nodiscard]] bool has_turn() const noexcept { return turn_.owns_lock(); }

  // The sockets that have appeared since and lead to the address. A single one is the right one; if
  // there are several, the host program has opened the others at the same moment.
  [[nodiscard]] std::vector<int> candidates() const;

  // The one of `fds` bound to this local TCP port.
  static std::optional<int> with_local_port(const std::vector<int>& fds, std::uint16_t port);

 private:
  const std::uint16_t port_;
  const std::string path_;
  const std::unique_lock<std::timed_mutex> turn_;
  const std::map<int, std::string> before_;
};

}  // namespace lockset::mysql
