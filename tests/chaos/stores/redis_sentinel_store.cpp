// Redis with two replicas and three sentinels: the primary is killed, stands still, is replaced
// while it serves, or loses what it did not copy. Each failover begins a quarantine as long as the
// longest lease, so that is short here.
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "lockset/lockset.h"
#include "tests/chaos/stores/dice.h"
#include "tests/chaos/stores/kinds.h"
#include "tests/chaos/stores/network.h"
#include "tests/chaos/stores/quiet.h"
#include "tests/redis/sentinel_set.h"
#include "tests/support/client.h"
#include "tests/support/wait.h"

namespace lockset::chaos {
namespace {

using namespace std::chrono_literals;
using test::RawRedis;
using test::RawReply;
using test::SentinelSet;

// A shorter one would be over before anything could go wrong.
constexpr Duration longest_lease = 3s;
// A failover: until the server counts as down, the election, and what a busy machine adds.
constexpr Duration failover = 8s;

class RedisSentinelStore final : public Store {
 public:
  explicit RedisSentinelStore(const StoreOptions& options) {
    init_space(direct_url(), test::soon()).value();
    test::Client(open_backend(direct_url(), test::soon()).value())
        .change(SetMaxLease{longest_lease});
    version_ = "Redis " + set_.admin(set_.primary()).info("redis_version");
    std::vector<Target> sentinels;
    for (std::size_t i = 0; i < SentinelSet::size; ++i) {
      sentinels.push_back({.port = set_.sentinel(i).port()});
    }
    // What the sentinels say leads around the proxies: these are between clients and sentinels.
    network_ = std::make_unique<Network>(sentinels, options.proxies);
    network_->add_faults(faults_, lease());
    add_failovers();
    add_trouble();
  }

  [[nodiscard]] std::string name() const override { return "redis-sentinel"; }
  [[nodiscard]] std::string version() const override { return version_; }
  [[nodiscard]] std::string worker_url(std::size_t worker) const override {
    return set_.url(network_->ports(worker), ":" + set_.password(), "space=chaos");
  }
  [[nodiscard]] std::string direct_url() const override { return set_.url("space=chaos"); }
  [[nodiscard]] Duration lease() const override { return 2s; }
  [[nodiscard]] std::vector<Fault>& faults() override { return faults_; }
  void settle() override {
    for (const Fault& fault : faults_) fault.end();
    set_.settle();
    if (!test::eventually([this] { return network_->calm() && answers(direct_url()); }, 60s)) {
      throw std::runtime_error(name() + ": it does not become calm");
    }
  }
  [[nodiscard]] Left count() override {
    RawRedis admin = set_.admin(set_.primary());
    const auto number = [&](const std::vector<std::string>& command) {
      return static_cast<std::uint64_t>(admin.number(command));
    };
    Left left{.holds = number({"ZCARD", "{chaos}:leases"}),
              .waiters = number({"HLEN", "{chaos}:waiters"})};
    for (const RawReply& key : admin.say({"KEYS", "{chaos}:*"}).list) {
      if (key.text.starts_with("{chaos}:name:")) ++left.holds;
      // Without the mark of an observed name.
      if (key.text.starts_with("{chaos}:shared:")) {
        left.holds += number({"ZCOUNT", key.text, "-inf", "(+inf"});
      }
      if (key.text.starts_with("{chaos}:wait:")) ++left.waiters;
    }
    left.connections = network_->open_connections();
    return left;
  }
  [[nodiscard]] Left left() override {
    return when_quiet(direct_url(), [this] { return count(); });
  }
  [[nodiscard]] history::Rules rules() const override {
    history::Rules rules;
    rules.late = Network::latest(lease()) + 3 * lease() + 5s;
    rules.outage = 60s;
    // A failover takes back the last releases, which then end with their leases, and holds are
    // missing until they are registered again.
    rules.snapshots_current = false;
    // A quarantine is no trouble by itself.
    rules.idle += longest_lease + 1s + rules.slack;
    rules.recovery += failover + longest_lease + 1s + rules.slack;
    return rules;
  }

 private:
  void add(
      const std::string& name, FaultKind kind, Duration shortest, Duration longest,
      std::function<std::string()> begin, std::function<void()> end = [] {}) {
    faults_.push_back({.name = name,
                       .kind = kind,
                       .shortest = shortest,
                       .longest = longest,
                       .begin = [begin = std::move(begin)](Dice&) { return begin(); },
                       .end = std::move(end),
                       .group = "server"});
  }
  // The one that is hit; it stays the same until the fault ends.
  std::size_t hit() {
    hit_ = set_.primary();
    return *hit_;
  }
  void back() {
    if (!hit_) return;
    if (std::exchange(down_, false)) set_.server(*hit_).start();
    set_.server(*hit_).resume();
    set_.admin(*hit_).say({"ACL", "SETUSER", "default", "+@all"});
    copy(true);
    hit_.reset();
    set_.settle();
    set_.expect_failover();
  }
  void copy(bool on) {
    for (std::size_t i = 0; i < SentinelSet::size; ++i) {
      if (down_ && i == *hit_) continue;
      set_.admin(i).say({"CONFIG", "SET", "masterauth", on ? set_.password() : "wrong"});
    }
  }
  std::string kill() {
    set_.server(hit()).kill();
    down_ = true;
    return "the primary is killed";
  }

  void add_failovers() {
    set_.expect_failover();
    const auto back_again = [this] { back(); };
    add(
        "failover-kill", FaultKind::server, lease(), 4 * lease(), [this] { return kill(); },
        back_again);
    add(
        "failover-pause", FaultKind::server, lease(), 4 * lease(),
        [this] {
          set_.server(hit()).pause();
          return std::string("the primary stands still");
        },
        back_again);
    // As if it were cut off from the sentinels only.
    add(
        "failover-goes-on", FaultKind::server, 2 * lease(), 5 * lease(),
        [this] {
          set_.admin(hit()).say({"ACL", "SETUSER", "default", "-slaveof", "-replicaof"});
          set_.fail_over();
          return std::string("another is promoted, and the primary goes on");
        },
        back_again);
    add(
        "failover-lost-tail", FaultKind::state, lease(), 3 * lease(),
        [this] {
          hit();
          copy(false);
          set_.admin(*hit_).say({"CLIENT", "KILL", "TYPE", "replica"});
          test::linger(lease() / 2);
          set_.server(*hit_).kill();
          down_ = true;
          copy(true);
          return std::string("the primary is killed, and its replicas lack a second");
        },
        back_again);
    add("failover-asked-for", FaultKind::server, 0s, 0s, [this] {
      set_.fail_over();
      set_.settle();
      set_.expect_failover();
      return std::string("another server is made the primary");
    });
  }
  void add_trouble() {
    add(
        "sentinel-pause", FaultKind::server, lease() / 2, 3 * lease(),
        [this] {
          set_.sentinel(1).pause();
          return std::string("a sentinel stands still");
        },
        [this] { set_.sentinel(1).resume(); });
    add(
        "sentinels-pause", FaultKind::server, lease() / 2, 2 * lease(),
        [this] {
          set_.sentinel(1).pause();
          set_.sentinel(2).pause();
          return std::string("two sentinels stand still: no majority is left");
        },
        [this] {
          set_.sentinel(1).resume();
          set_.sentinel(2).resume();
        });
    add("clients-killed", FaultKind::session, 0s, 0s, [this] {
      set_.admin(set_.primary()).ask({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
      return std::string("clients are ended");
    });
  }

  SentinelSet set_{{}, {}};
  std::string version_;
  std::unique_ptr<Network> network_;
  std::vector<Fault> faults_;
  std::optional<std::size_t> hit_;
  bool down_ = false;
};

}  // namespace

std::vector<Kind> redis_sentinel_kinds() {
  return {
      {"redis-sentinel", [](const StoreOptions&) { return SentinelSet::unavailable(); },
       [](const StoreOptions& options) { return std::make_unique<RedisSentinelStore>(options); }}};
}

}  // namespace lockset::chaos
