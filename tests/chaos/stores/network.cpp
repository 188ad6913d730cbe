#include "tests/chaos/stores/network.h"

#include <algorithm>
#include <utility>

#include "tests/chaos/stores/dice.h"

namespace lockset::chaos {
namespace {

using test::TcpProxy;
using Way = TcpProxy::Way;
using std::chrono::milliseconds;

}  // namespace

Network::Network(const std::vector<Target>& servers, std::size_t groups)
    : servers_(servers.size()) {
  for (std::size_t group = 0; group < groups; ++group) {
    for (const Target& server : servers) {
      proxies_.push_back(std::make_unique<TcpProxy>(server.port, server.address));
    }
  }
}

std::vector<std::uint16_t> Network::ports(std::size_t worker) const {
  const std::size_t first = worker * servers_ % proxies_.size();
  std::vector<std::uint16_t> ports;
  for (std::size_t i = 0; i < servers_; ++i) ports.push_back(proxies_[first + i]->port());
  return ports;
}

std::string Network::hosts(std::size_t worker) const {
  std::string hosts;
  for (const std::uint16_t port : ports(worker)) {
    hosts += (hosts.empty() ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(port);
  }
  return hosts;
}

void Network::forward_to(std::size_t index, const Target& server) {
  for (std::size_t i = index; i < proxies_.size(); i += servers_) {
    proxies_[i]->forward_to(server.port, server.address);
    proxies_[i]->cut_all();
  }
}

Network::Proxies Network::some(Dice& dice) {
  Proxies hit;
  const bool one_server = servers_ > 1 && chance(dice, 0.5);
  const std::size_t server = between(dice, 0, servers_ - 1);
  const std::size_t groups = proxies_.size() / servers_;
  const std::size_t surely = between(dice, 0, groups - 1);
  for (std::size_t group = 0; group < groups; ++group) {
    if (group != surely && chance(dice, 0.5)) continue;
    for (std::size_t i = 0; i < servers_; ++i) {
      if (!one_server || i == server) hit.push_back(proxies_[group * servers_ + i].get());
    }
  }
  return hit;
}

std::string Network::tell(const Proxies& hit) const {
  return " on " + std::to_string(hit.size()) + " of " + std::to_string(proxies_.size()) + " ways";
}

void Network::add_faults(std::vector<Fault>& faults, Duration lease) {
  const auto longest = std::chrono::duration_cast<milliseconds>(lease);
  const auto add = [&](const std::string& name, auto begin) {
    faults.push_back({.name = "net-" + name,
                      .kind = FaultKind::network,
                      .shortest = lease / 4,
                      .longest = 2 * lease,
                      .begin =
                          [this, begin](Dice& dice) {
                            in_trouble_ = true;
                            const Proxies hit = some(dice);
                            return begin(dice, hit) + tell(hit);
                          },
                      .end = [this] { heal(); },
                      .group = "network"});
  };
  const auto add_weather = [&](const std::string& name, const std::string& what, auto make) {
    add(name, [what, make](Dice& dice, const Proxies& hit) {
      TcpProxy::Weather weather = make(dice);
      for (TcpProxy* proxy : hit) {
        weather.seed = dice();
        proxy->weather(weather);
      }
      return what + (weather.hold > 0
                         ? " by up to " + std::to_string(weather.longest_hold.count()) + " ms"
                         : "");
    });
    faults.back().hits = [this] {
      std::size_t all = 0;
      for (const auto& proxy : proxies_) all += proxy->hits();
      return all;
    };
  };

  add("delay", [longest](Dice& dice, const Proxies& hit) {
    const milliseconds delay(between(dice, 20, longest.count() / 4));
    for (TcpProxy* proxy : hit) proxy->far(delay);
    return "replies take " + std::to_string(delay.count()) + " ms";
  });
  // A large part of a lease: a grant has little of its lease left, or nothing.
  add("slow", [longest](Dice& dice, const Proxies& hit) {
    const milliseconds delay(between(dice, longest.count() * 2 / 5, longest.count() * 9 / 10));
    for (TcpProxy* proxy : hit) proxy->far(delay);
    return "replies take " + std::to_string(delay.count()) + " ms";
  });
  add_weather("cut", "replies cut", [](Dice& dice) {
    return TcpProxy::Weather{.cut = real(dice, 0.02, 0.3), .most_passed = between(dice, 0, 200)};
  });
  add_weather("late", "requests late", [longest](Dice& dice) {
    return TcpProxy::Weather{.hold = real(dice, 0.02, 0.2),
                             .shortest_hold = longest / 20,
                             .longest_hold = milliseconds(between(dice, 100, longest.count() * 3))};
  });
  add_weather("reset", "connections reset",
              [](Dice& dice) { return TcpProxy::Weather{.reset = real(dice, 0.02, 0.3)}; });
  add_weather("half-close", "connections half closed",
              [](Dice& dice) { return TcpProxy::Weather{.half_close = real(dice, 0.02, 0.3)}; });
  add("black-hole", [](Dice& dice, const Proxies& hit) {
    constexpr std::pair<Way, const char*> ways[] = {{Way::to_server, "nothing reaches the server"},
                                                    {Way::to_client, "no reply arrives"},
                                                    {Way::both, "nothing passes"}};
    const auto& [way, text] = ways[between(dice, 0, 2)];
    for (TcpProxy* proxy : hit) proxy->black_hole(way);
    return std::string(text);
  });
  add("refuse", [](Dice&, const Proxies& hit) {
    for (TcpProxy* proxy : hit) {
      proxy->refuse();
      proxy->cut_all();
    }
    return std::string("connections cut and refused");
  });
}

std::size_t Network::cut(std::size_t index) {
  std::size_t all = 0;
  for (std::size_t i = index; i < proxies_.size(); i += servers_) {
    all += proxies_[i]->open_connections();
    proxies_[i]->cut_all();
  }
  return all;
}

bool Network::freeze() {
  if (in_trouble_) return false;
  for (const auto& proxy : proxies_) proxy->black_hole(Way::to_server);
  return true;
}

void Network::heal() {
  in_trouble_ = false;
  for (const auto& proxy : proxies_) {
    proxy->heal();
    proxy->reset_counts();  // forgets closed connections
  }
}

bool Network::calm() const {
  return std::all_of(proxies_.begin(), proxies_.end(),
                     [](const auto& proxy) { return proxy->holding() == 0; });
}

std::size_t Network::open_connections() const {
  std::size_t all = 0;
  for (const auto& proxy : proxies_) all += proxy->open_connections();
  return all;
}

}  // namespace lockset::chaos
