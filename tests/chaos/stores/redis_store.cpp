// Redis, whose server may lose everything: then the quarantine keeps the promise. Each restart
// begins a quarantine as long as the longest lease, so that is short here.
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <utility>

#include "lockset/lockset.h"
#include "tests/chaos/stores/dice.h"
#include "tests/chaos/stores/kinds.h"
#include "tests/chaos/stores/server_store.h"
#include "tests/redis/raw_client.h"
#include "tests/support/client.h"
#include "tests/support/wait.h"

namespace lockset::chaos {
namespace {

using namespace std::chrono_literals;
using test::RawRedis;

// A shorter one would be over before anything could go wrong.
constexpr Duration longest_lease = 3s;

class RedisStore final : public ServerStore {
 public:
  explicit RedisStore(const StoreOptions& options) : RedisStore(options, Token::random().hex()) {}

  [[nodiscard]] std::string version() const override { return version_; }
  [[nodiscard]] std::string worker_url(std::size_t worker) const override {
    return "redis://chaos_worker:" + password_ + "@" + network().hosts(worker) + parameters_;
  }
  [[nodiscard]] std::string direct_url() const override {
    const std::string admin = server().admin_url();
    return admin.substr(0, admin.rfind('/')) + parameters_;
  }
  [[nodiscard]] history::Rules rules() const override {
    history::Rules rules = ServerStore::rules();
    // A quarantine, which steps back of the clock make longer, is no trouble by itself.
    rules.idle += longest_lease + rules.slack;
    rules.recovery += longest_lease + rules.slack;
    return rules;
  }
  [[nodiscard]] Left count() override {
    RawRedis admin = session();
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
    const std::string clients = admin.text({"CLIENT", "LIST"});
    for (std::size_t at = 0; (at = clients.find("user=chaos_worker", at)) != std::string::npos;
         ++at) {
      ++left.connections;
    }
    return left;
  }

 private:
  RedisStore(const StoreOptions& options, const std::string& password)
      : ServerStore("redis", "redis", options,
                    {"user chaos_worker on >" + password + " ~* &* +@all"}),
        password_(password) {
    init_space(direct_url(), test::soon()).value();
    test::Client(open_backend(direct_url(), test::soon()).value())
        .change(SetMaxLease{longest_lease});
    version_ = "Redis " + RawRedis(server().admin_url()).info("redis_version");
    make_network({{.port = server().port()}}, options.proxies);
    add_server_faults();
    add_sweep();
    add_session_faults();
    add_losses();
    add_restores(vault(), FaultKind::state);
    // Applied to a primary that can't be reached, so that it keeps its data.
    add_demotion(
        "a replica",
        [this] {
          session().say({"REPLICAOF", "127.0.0.1", "1"});
        },
        [this] {
          session().say({"REPLICAOF", "NO", "ONE"});
        });
    add_clock_faults();
  }

  [[nodiscard]] RawRedis session() const { return RawRedis(server().admin_url()); }
  using RawReply = test::RawReply;

  void add_session_faults() {
    add("clients-killed", FaultKind::session, 0s, 0s, [this](Dice&) {
      return "end of " + session().text({"CLIENT", "KILL", "USER", "chaos_worker"}) + " clients";
    });
    add_repeated("listeners-killed", FaultKind::session, 50ms, "clients that listen are ended",
                 [this] {
                   session().say({"CLIENT", "KILL", "TYPE", "pubsub"});
                 });
    add_repeated("callers-killed", FaultKind::session, 200ms, "clients that call are ended",
                 [this] {
                   session().say({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
                 });
    add_repeated("scripts-flushed", FaultKind::session, 5ms, "SCRIPT FLUSH", [this] {
      session().say({"SCRIPT", "FLUSH"});
    });
    add(
        "connections-used-up", FaultKind::load, lease() / 2, 2 * lease(),
        [this](Dice&) {
          // Existing connections stay. The one that undoes this is kept.
          limiter_ = std::make_unique<RawRedis>(server().admin_url());
          limiter_->say({"CONFIG", "SET", "maxclients", "1"});
          return std::string("no connection is free");
        },
        [this] {
          if (limiter_ == nullptr) return;
          limiter_->say({"CONFIG", "SET", "maxclients", "10000"});
          limiter_.reset();
        });
    add_repeated("rewrite", FaultKind::load, 100ms, "the append-only file is written anew",
                 [this] { session().ask({"BGREWRITEAOF"}); });
  }

  [[nodiscard]] std::filesystem::path beside(const std::string& name) {
    return server().folder() / name;
  }

  // Puts back its file as it was some time ago, with a restart: the quarantine keeps the promise.
  // ("flushall" wipes it.)
  [[nodiscard]] Vault vault() {
    const auto copy = [](const std::filesystem::path& from, const std::filesystem::path& to) {
      std::filesystem::remove_all(to);
      std::filesystem::copy(from, to, std::filesystem::copy_options::recursive);
    };
    Vault vault;
    vault.quarantine = true;
    vault.back_up = [this, copy] {
      server().pause();
      copy(beside("data") / "appendonlydir", beside("backup"));
      server().resume();
    };
    vault.put_back = [this, copy] {
      take_down();
      copy(beside("backup"), beside("data") / "appendonlydir");
      start_again();
    };
    return vault;
  }

  void add_losses() {
    add("flushall", FaultKind::state, 0s, 0s, [this](Dice&) {
      session().say({"FLUSHALL"});
      return std::string("all is lost");
    });
    add(
        "restart-empty", FaultKind::state, 0s, lease(),
        [this](Dice&) {
          take_down();
          std::filesystem::remove_all(server().folder() / "data" / "appendonlydir");
          return std::string("killed, and its file lost");
        },
        [this] { start_again(); });
  }

  const std::string parameters_ = "?space=chaos";
  const std::string password_;
  std::string version_;
  std::unique_ptr<RawRedis> limiter_;
};

}  // namespace

std::vector<Kind> redis_kinds() {
  return {{"redis",
           [](const StoreOptions& options) {
             return ServerStore::server_unavailable("redis", options);
           },
           [](const StoreOptions& options) { return std::make_unique<RedisStore>(options); }}};
}

}  // namespace lockset::chaos
