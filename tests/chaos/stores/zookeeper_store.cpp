// An ensemble of three ZooKeeper servers. Each worker knows all three, through proxies.
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "lockset/lockset.h"
#include "tests/chaos/stores/dice.h"
#include "tests/chaos/stores/kinds.h"
#include "tests/chaos/stores/server_store.h"
#include "tests/support/client.h"
#include "tests/support/wait.h"
#include "tests/zookeeper/four_letters.h"
#include "tests/zookeeper/raw_client.h"
#include "tests/zookeeper/session_end.h"

namespace lockset::chaos {
namespace {

using namespace std::chrono_literals;

constexpr int members[] = {1, 2, 3};

class ZookeeperStore final : public ServerStore {
 public:
  explicit ZookeeperStore(const StoreOptions& options)
      : ServerStore("zookeeper", "zookeeper-ensemble", options, {}, namespaces()) {
    init_space(direct_url(), test::soon()).value();
    std::vector<Target> targets;
    for (const int member : members) {
      targets.push_back({server().port(member), server().address(member)});
      loopback_.push_back(
          std::make_unique<test::TcpProxy>(targets.back().port, targets.back().address));
    }
    make_network(targets, options.proxies);
    const std::string said = test::four_letters(loopback(1), "srvr");
    version_ = said.substr(0, said.find(','));
    add_server_faults();
    add_sweep();
    add_member_faults();
    add_session_faults();
    add_clock_faults();
    add_restores(vault());
    if (const auto why = no_namespaces()) {
      missing_.push_back("partition: " + *why);
    } else {
      add_partitions();
    }
  }

  [[nodiscard]] std::vector<std::string> missing() const override { return missing_; }
  [[nodiscard]] std::string version() const override { return version_; }
  [[nodiscard]] std::string worker_url(std::size_t worker) const override {
    return "zookeeper://" + identity_ + "@" + network().hosts(worker) + parameters_;
  }
  // One for each member: it knows no other.
  [[nodiscard]] std::vector<std::string> keeper_urls() const override {
    std::vector<std::string> urls;
    for (const int member : members) {
      const auto index = static_cast<std::size_t>(member) - 1;
      urls.push_back("zookeeper://" + identity_ +
                     "@127.0.0.1:" + std::to_string(network().ports(index)[index]) + parameters_);
    }
    return urls;
  }
  [[nodiscard]] std::string direct_url() const override {
    return "zookeeper://" + identity_ + "@" + hosts() + parameters_;
  }
  [[nodiscard]] history::Rules rules() const override {
    history::Rules rules = ServerStore::rules();
    // A new leader gives every session its whole time again, and without a leader no session ends.
    // A lease is two thirds of its session.
    rules.slack += 10s;
    rules.slack_per_lease = 3;
    rules.idle += 10s;
    rules.recovery += 10s;
    // A client that knows one member gets no answer while that is paused, and then dead.
    rules.outage += 2 * long_lease();
    // A client whose hold is over by its own clock says so before it has deleted the node.
    rules.denials_end = false;
    return rules;
  }
  [[nodiscard]] Left count() override {
    Left left;
    test::RawZookeeper raw(hosts(), identity_);
    raw.sync();
    const std::string root = raw.generation("/chaos");
    left.holds = raw.children(root + "/holds").size();
    for (const std::string& name : raw.children(root + "/names")) {
      for (const std::string& child : raw.children(root + "/names/" + name)) {
        if (child.starts_with("w-") || child.starts_with("r-")) ++left.holds;
      }
    }
    for (const std::string& queue : raw.children(root + "/queues")) {
      left.waiters += raw.children(root + "/queues/" + queue).size();
    }
    left.connections = network().open_connections();
    return left;
  }

 private:
  // Stamps may come again, so its page tells people to raise the stamp base before programs start.
  [[nodiscard]] Vault vault() {
    const auto each = [this](auto copy) {
      for (const int member : members) {
        const auto data = server().folder() / "data" / std::to_string(member) / "version-2";
        copy(data, server().folder() / ("backup-" + std::to_string(member)));
      }
    };
    const auto copy = [](const std::filesystem::path& from, const std::filesystem::path& to) {
      std::filesystem::remove_all(to);
      std::filesystem::copy(from, to, std::filesystem::copy_options::recursive);
    };
    Vault vault;
    vault.needs_frost = true;
    vault.back_up = [this, each, copy] {
      server().pause();
      each([&](const auto& data, const auto& kept) { copy(data, kept); });
      server().resume();
    };
    vault.put_back = [this, each, copy] {
      highest_ = draw_stamp();
      take_down();
      each([&](const auto& data, const auto& kept) { copy(kept, data); });
      start_again();
    };
    vault.wipe = [this] {
      highest_ = draw_stamp();
      test::RawZookeeper(hosts(), identity_).remove_tree("/chaos");
      init_space(direct_url(), test::soon()).value();
    };
    vault.prepare = [this] {
      const auto client = open_backend(direct_url(), test::soon()).value();
      // Above the stamps that are granted while this is done, too.
      client->change_config(RaiseStampBase{{highest_.value + 1'000'000}}, test::soon()).value();
    };
    return vault;
  }

  // Draws a stamp above all granted so far. It is in the history like any other.
  Stamp draw_stamp() {
    const std::uint64_t op = ++drawn_;
    test::Client client(open_backend(direct_url(), test::soon()).value(), "highest");
    test::Ask ask;
    ask.lease = lease();
    record(history::Ask{op, {{"highest", Mode::write, 1}}, ask.lease, Duration::zero()});
    const TimePoint asked = BootClock::now();
    const Stamp stamp = client.take({{"highest", Mode::write}}, ask).stamp;
    record(history::Granted{op, stamp, asked + ask.lease / 2, {}});
    record(history::Release{stamp});
    const bool released = client.release(stamp);
    record(released ? history::What(history::Released{stamp})
                    : history::What(history::NotHeld{stamp}));
    return stamp;
  }

  void add_member_faults() {
    const auto pick = [this](Dice& dice, bool leader) {
      return leader ? server().leader() : static_cast<int>(between(dice, 1, 3));
    };
    const auto one = [this, pick](const std::string& name, bool leader, bool kill,
                                  Duration longest) {
      add(
          name, FaultKind::server, lease() / 20, longest,
          [this, pick, leader, kill](Dice& dice) {
            const int member = pick(dice, leader);
            take(member, kill);
            return std::string(kill ? "kill -9" : "pause") + " of member " +
                   std::to_string(member) + (leader ? ", which leads" : "");
          },
          [this] { give_back(); });
    };
    one("member-kill", false, true, 2 * lease());
    one("member-pause", false, false, 3 * lease());
    one("leader-kill", true, true, 2 * lease());
    one("leader-pause", true, false, 3 * lease());
    // The others elect a new leader, which gives every session its whole time again, a lease and a
    // half. When the first one continues, it does not know that yet, and answers its waiting
    // clients. Then it is killed, and stays away for a long lease: clients that know no
    // other member get no more answers.
    add(
        "leader-deposed", FaultKind::server, long_lease() * 80 / 100, long_lease() * 86 / 100,
        [this](Dice&) {
          deposed_ = server().leader();
          take(*deposed_, false);
          return "member " + std::to_string(*deposed_) +
                 ", which leads, is paused for longer than an election, but less than long leases";
        },
        [this] {
          if (!deposed_) return;
          const int member = *std::exchange(deposed_, std::nullopt);
          give_back();
          test::linger(100ms);
          take(member, true);
          test::linger(long_lease());
          give_back();
        });
    faults().back().takes = long_lease();
    add(
        "no-quorum", FaultKind::server, lease() / 20, 2 * lease(),
        [this](Dice& dice) {
          const int spared = static_cast<int>(between(dice, 1, 3));
          const bool kill = chance(dice, 0.5);
          for (const int member : members) {
            if (member != spared) take(member, kill);
          }
          return std::string(kill ? "kill -9" : "pause") + " of all members but " +
                 std::to_string(spared);
        },
        [this] { give_back(); });
  }

  [[nodiscard]] std::string hosts() const {
    return server().admin_url().substr(std::string("zookeeper://").size());
  }

  static std::vector<std::string> in_namespaces() { return {"LOCKSET_SERVER_NETWORK=namespaces"}; }
  static std::optional<std::string> no_namespaces() {
    return test::PrivateServer::unavailable("zookeeper-ensemble", in_namespaces());
  }
  static std::vector<std::string> namespaces() {
    return no_namespaces() ? std::vector<std::string>() : in_namespaces();
  }

  // The members don't hear each other; their clients reach all of them.
  void add_partitions() {
    const auto rejoin = [this] {
      if (std::exchange(parted_, false)) server().rejoin();
    };
    const auto one = [this, rejoin](const std::string& name, auto part) {
      add(
          "partition-" + name, FaultKind::partition, lease() / 4, 3 * lease(),
          [this, part](Dice& dice) {
            parted_ = true;
            return part(static_cast<int>(between(dice, 1, 3)));
          },
          rejoin);
    };
    one("member", [this](int member) {
      server().cut_off(member);
      return "member " + std::to_string(member) + " is cut off from the others";
    });
    one("leader", [this](int) {
      const int leader = server().leader();
      server().cut_off(leader);
      return "member " + std::to_string(leader) + ", which leads, is cut off from the others";
    });
    one("bridge", [this](int member) {
      server().cut_apart(member);
      return "only member " + std::to_string(member) + " hears the others";
    });
  }

  // The port of the loopback that leads to that member.
  [[nodiscard]] std::uint16_t loopback(int member) const {
    return loopback_[static_cast<std::size_t>(member) - 1]->port();
  }

  void take(int member, bool kill) {
    (kill ? killed_ : stopped_).push_back(member);
    kill ? server().kill(member) : server().pause(member);
  }
  void give_back() {
    for (const int member : std::exchange(stopped_, {})) server().resume(member);
    for (const int member : std::exchange(killed_, {})) server().start(member);
  }

  // All sessions, including the observer's.
  std::vector<std::int64_t> sessions() {
    std::vector<std::int64_t> found;
    for (const auto& each : loopback_) each->reset_counts();  // forgets closed connections
    for (const int member : members) {
      std::istringstream lines(test::four_letters(loopback(member), "cons"));
      for (std::string line; std::getline(lines, line);) {
        const std::size_t at = line.find("sid=0x");
        if (at == std::string::npos) continue;
        const std::string hex =
            line.substr(at + 6, line.find_first_not_of("0123456789abcdef", at + 6) - at - 6);
        found.push_back(static_cast<std::int64_t>(std::stoull(hex, nullptr, 16)));
      }
    }
    return found;
  }

  // The stamps of the holds of each session.
  std::map<std::int64_t, std::vector<Stamp>> holds_of_sessions() {
    std::map<std::int64_t, std::vector<Stamp>> holds;
    test::RawZookeeper raw(hosts(), identity_);
    raw.sync();
    const std::string above = raw.generation("/chaos") + "/holds";
    for (const std::string& token : raw.children(above)) {
      const auto record = raw.get(above + "/" + token);
      if (!record) continue;
      const std::size_t base = record->data.find("base=");
      if (base == std::string::npos) throw std::runtime_error("a record without base");
      holds[record->owner].push_back(
          Stamp{std::stoll(record->data.substr(base + 5)) + record->created});
    }
    return holds;
  }

  // Closes some sessions from outside, which breaks their holds: their clients can't know it before
  // the next answer. No grant is under way meanwhile, which nobody would record. Returns how many.
  std::size_t end_sessions(Dice& dice, double share) {
    if (!network().freeze()) return 0;
    std::size_t ended = 0;
    try {
      test::linger(50ms);  // for requests that were under way
      const auto holds = holds_of_sessions();
      for (const std::int64_t session : sessions()) {
        if (!chance(dice, share)) continue;
        const auto mine = holds.find(session);
        const std::vector<Stamp> none;
        const std::vector<Stamp>& broken = mine == holds.end() ? none : mine->second;
        for (const Stamp stamp : broken) record(history::Release{stamp});
        try {
          test::end_session(loopback(static_cast<int>(between(dice, 1, 3))), session);
          ++ended;
          for (const Stamp stamp : broken) record(history::Released{stamp});
        } catch (const std::runtime_error&) {  // it is gone, or that member does not know it yet
          for (const Stamp stamp : broken) record(history::ReleaseUnknown{stamp});
        }
      }
    } catch (...) {
      network().thaw();
      throw;
    }
    network().thaw();
    return ended;
  }

  void add_session_faults() {
    add("sessions-expired", FaultKind::session, 0s, 0s, [this](Dice& dice) {
      const double share = real(dice, 0.1, 1);
      return "end of " + std::to_string(end_sessions(dice, share)) + " sessions";
    });
    add("connections-cut", FaultKind::session, 0s, 0s, [this](Dice& dice) {
      const std::size_t first = between(dice, 0, 2);
      for (std::size_t i = first; i < first + 3; ++i) {
        const int member = members[i % 3];
        const std::size_t cut = network().cut(i % 3);
        if (cut > 0) {
          return "end of " + std::to_string(cut) + " connections to member " +
                 std::to_string(member);
        }
      }
      return std::string("end of 0 connections");
    });
  }

  // Each connection has to show it: without it a connection could do nothing.
  const std::string identity_ = "app:chaos";
  const std::string parameters_ = "?space=chaos&short_leases=on";
  std::string version_;
  std::vector<std::unique_ptr<test::TcpProxy>> loopback_;
  std::vector<std::string> missing_;
  bool parted_ = false;
  std::vector<int> killed_;
  std::optional<int> deposed_;
  Stamp highest_;
  std::uint64_t drawn_ = 0;
  std::vector<int> stopped_;
};

}  // namespace

std::vector<Kind> zookeeper_kinds() {
  return {{"zookeeper",
           [](const StoreOptions& options) -> std::optional<std::string> {
             if (options.scenario == Scenario::clock_forward) {
               return "its sessions go by a clock that nobody can set";
             }
             return ServerStore::server_unavailable("zookeeper-ensemble", options);
           },
           [](const StoreOptions& options) { return std::make_unique<ZookeeperStore>(options); }}};
}

}  // namespace lockset::chaos
