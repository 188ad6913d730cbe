// The network between the workers and the servers: proxies in groups, some of which have a fault at
// a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/chaos/stores/store.h"
#include "tests/support/tcp_proxy.h"

namespace lockset::chaos {

struct Target {
  std::uint16_t port = 0;
  std::string address = "127.0.0.1";
};

// For one thread.
class Network {
 public:
  // `groups` ways to these servers; each group has one proxy per server.
  Network(const std::vector<Target>& servers, std::size_t groups);

  // The ports of 127.0.0.1 through which this worker reaches the servers, in their order.
  [[nodiscard]] std::vector<std::uint16_t> ports(std::size_t worker) const;
  // "127.0.0.1:10001,127.0.0.1:10002".
  [[nodiscard]] std::string hosts(std::size_t worker) const;
  // Adds the network's faults, all in the group "network". They refer to this network.
  void add_faults(std::vector<Fault>& faults, Duration lease);
  // The longest time that a request may be under way here.
  [[nodiscard]] static Duration latest(Duration lease) { return 3 * lease; }
  // New connections to the server `index` go there; the existing ones are cut.
  void forward_to(std::size_t index, const Target& server);

  // Between these two calls nothing new reaches the servers. False, and nothing is done, while a
  // fault is under way here.
  bool freeze();
  void thaw() { heal(); }

  // Cuts all connections to the server `index`; returns how many there were.
  std::size_t cut(std::size_t index);
  void heal();
  // True if no delayed request is held any more.
  [[nodiscard]] bool calm() const;
  [[nodiscard]] std::size_t open_connections() const;

 private:
  using Proxies = std::vector<test::TcpProxy*>;
  // Some groups, at least one; or, if there are several servers, perhaps only the ways to one of
  // them.
  Proxies some(Dice& dice);
  [[nodiscard]] std::string tell(const Proxies& hit) const;

  std::size_t servers_;
  bool in_trouble_ = false;
  std::vector<std::unique_ptr<test::TcpProxy>> proxies_;  // group by group
};

}  // namespace lockset::chaos
