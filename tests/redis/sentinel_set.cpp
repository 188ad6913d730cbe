#include "tests/redis/sentinel_set.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <stdexcept>
#include <thread>

#include "lockset/stamp.h"
#include "tests/support/wait.h"

namespace lockset::test {
namespace {

using namespace std::chrono_literals;

constexpr const char* name = "main";

std::string at(const std::string& login, std::uint16_t port) {
  return "redis://" + login + "@127.0.0.1:" + std::to_string(port) + "/0";
}

void demand(bool done, const std::string& what) {
  if (!done) throw std::runtime_error("sentinels: " + what);
}

// What follows `field` in a list of fields and values; "" if it is not there.
std::string value(const RawReply& fields, const std::string& field) {
  for (std::size_t at = 0; at + 1 < fields.list.size(); at += 2) {
    if (fields.list[at].text == field) return fields.list[at + 1].text;
  }
  return {};
}

// Starting a server is mostly waiting.
template <class Start>
void start_all(const Start& start) {
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < SentinelSet::size; ++i) threads.emplace_back([&, i] { start(i); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

std::optional<std::string> SentinelSet::unavailable(const std::vector<std::string>& environment) {
  auto why = PrivateServer::unavailable("redis", environment);
  return why ? why : PrivateServer::unavailable("redis-sentinel", environment);
}

SentinelSet::SentinelSet(const std::vector<std::string>& lines,
                         const std::vector<std::string>& environment)
    : password_(Token::random().hex()), sentinel_password_(Token::random().hex()) {
  std::vector<std::string> of_server{"requirepass " + password_, "masterauth " + password_,
                                     // Copied at once, not after five seconds.
                                     "repl-diskless-sync-delay 0"};
  of_server.insert(of_server.end(), lines.begin(), lines.end());
  start_all([&](std::size_t i) {
    servers_[i] = std::make_unique<PrivateServer>("redis", of_server, environment);
  });
  const std::string port = std::to_string(servers_[0]->port());
  for (std::size_t i = 1; i < size; ++i) admin(i).say({"REPLICAOF", "127.0.0.1", port});
  // The sentinels ask a primary for its replicas when they meet it, and then every ten seconds.
  demand(eventually([&] {
           for (std::size_t i = 1; i < size; ++i) {
             if (admin(i).info("master_link_status") != "up") return false;
           }
           return true;
         }),
         "no replication");
  start_all([&](std::size_t i) {
    sentinels_[i] = std::make_unique<PrivateServer>(
        "redis-sentinel",
        std::vector<std::string>{
            "requirepass " + sentinel_password_, "sentinel sentinel-pass " + sentinel_password_,
            std::string("sentinel monitor ") + name + " 127.0.0.1 " + port + " 2",
            std::string("sentinel auth-pass ") + name + " " + password_,
            std::string("sentinel down-after-milliseconds ") + name + " 600000",
            std::string("sentinel failover-timeout ") + name + " 2000",
            std::string("sentinel parallel-syncs ") + name + " 2"},
        environment);
  });
  std::ofstream(sentinel_password_file()) << sentinel_password_ << "\n";
  settle();
}

RawRedis SentinelSet::ask(std::size_t sentinel) const {
  return RawRedis(at(":" + sentinel_password_, sentinels_[sentinel]->port()));
}

std::string SentinelSet::direct(std::size_t i) const {
  return at(":" + password_, servers_[i]->port());
}

std::string SentinelSet::sentinel_password_file() const {
  return (sentinels_[0]->folder() / "sentinel-password").string();
}

std::string SentinelSet::url(const std::vector<std::uint16_t>& ports, const std::string& login,
                             const std::string& parameters) const {
  std::string hosts;
  for (const std::uint16_t port : ports) {
    hosts += (hosts.empty() ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(port);
  }
  return "redis+sentinel://" + login + "@" + hosts + "/" + name +
         "?sentinel_password_file=" + sentinel_password_file() +
         (parameters.empty() ? "" : "&" + parameters);
}

std::string SentinelSet::url(const std::string& parameters) const {
  std::vector<std::uint16_t> ports;
  for (const auto& one : sentinels_) ports.push_back(one->port());
  return url(ports, ":" + password_, parameters);
}

// Quick about what takes seconds for a real set; a busy machine is no reason to stand back (TILT).
void SentinelSet::tune(std::size_t sentinel) const {
  ask(sentinel).say({"SENTINEL", "DEBUG", "INFO-PERIOD", "200", "PUBLISH-PERIOD", "200",
                     "ASK-PERIOD", "200", "TILT-TRIGGER", "30000", "TILT-PERIOD", "500"});
}

std::size_t SentinelSet::named_by(std::size_t i) const {
  const RawReply named = ask(i).say({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", name});
  for (std::size_t server = 0; server < size; ++server) {
    if (named.list.at(1).text == std::to_string(servers_[server]->port())) return server;
  }
  throw std::runtime_error("sentinels: another server is named");
}

std::size_t SentinelSet::primary(std::optional<std::size_t> not_this) const {
  std::size_t found = size;
  const bool agreed = eventually(
      [&] {
        try {
          std::vector<std::size_t> named;
          for (std::size_t i = 0; i < size; ++i) {
            try {
              named.push_back(named_by(i));
            } catch (const std::runtime_error&) {  // it does not run
            }
          }
          if (named.size() < 2) return false;
          found = named.front();
          return found != not_this &&
                 std::all_of(named.begin(), named.end(), [&](auto one) { return one == found; }) &&
                 admin(found).info("role") == "master";
        } catch (const std::runtime_error&) {
          return false;
        }
      },
      60s);
  demand(agreed, "they agree on no primary");
  return found;
}

bool SentinelSet::settled() const {
  try {
    const std::size_t first = primary();
    RawRedis of_primary = admin(first);
    if (of_primary.info("connected_slaves") != std::to_string(size - 1)) return false;
    const std::string port = std::to_string(servers_[first]->port());
    for (std::size_t i = 0; i < size; ++i) {
      const RawReply about = ask(i).say({"SENTINEL", "MASTER", name});
      if (value(about, "num-slaves") != "2" || value(about, "num-other-sentinels") != "2" ||
          value(about, "flags") != "master") {
        return false;
      }
      if (i == first) continue;
      RawRedis replica = admin(i);
      if (replica.info("master_link_status") != "up" || replica.info("master_port") != port) {
        return false;
      }
    }
    // Everything that the primary has.
    of_primary.say({"SET", "settled", Token::random().hex()});
    return of_primary.text({"WAIT", "2", "5000"}) == "2";
  } catch (const std::runtime_error&) {
    return false;
  }
}

void SentinelSet::settle() {
  for (std::size_t i = 0; i < size; ++i) {
    tune(i);
    ask(i).say({"SENTINEL", "SET", name, "down-after-milliseconds", "600000"});
  }
  demand(eventually([&] { return settled(); }, 120s), "they do not settle");
}

void SentinelSet::expect_failover(Duration silence) const {
  const std::string ms = std::to_string(silence / 1ms);
  for (std::size_t i = 0; i < size; ++i) {
    ask(i).say({"SENTINEL", "SET", name, "down-after-milliseconds", ms});
  }
}

void SentinelSet::fail_over() const {
  const std::size_t before = primary();
  demand(eventually([&] {
           const RawReply said = ask(0).ask({"SENTINEL", "FAILOVER", name});
           return !said.is_error;
         }),
         "no failover");
  static_cast<void>(primary(before));
}

void SentinelSet::set_priority(std::size_t i, const std::string& priority) const {
  admin(i).say({"CONFIG", "SET", "replica-priority", priority});
}

void SentinelSet::allow_only(std::size_t i) const {
  std::map<std::string, std::string> wanted;  // by port
  for (std::size_t each = 0; each < size; ++each) {
    const std::string priority = each == i ? "1" : "0";
    set_priority(each, priority);
    wanted[std::to_string(servers_[each]->port())] = priority;
  }
  const auto knows = [&] {
    const RawReply replicas = ask(0).say({"SENTINEL", "REPLICAS", name});
    return replicas.list.size() == size - 1 &&
           std::all_of(replicas.list.begin(), replicas.list.end(), [&](const RawReply& each) {
             return value(each, "slave-priority") == wanted[value(each, "port")];
           });
  };
  demand(eventually(knows, 120s), "the sentinel does not hear of the priorities");
}

void SentinelSet::allow_all() const {
  for (std::size_t i = 0; i < size; ++i) set_priority(i, "100");
}

}  // namespace lockset::test
