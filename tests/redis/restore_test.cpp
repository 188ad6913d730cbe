// SEM 7, 8, 20 if the state of the server changes without its process, so that neither a restart
// nor a missing key shows it: an older dump, another space in place of ours, a primary that was
// demoted for a while. Then nothing is granted for the longest lease, and no version of the
// configuration comes again.
#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/redis/fixture.h"

namespace lockset::redis_tests {
namespace {

// The quarantine: as long as a test's steps during it may take on a busy machine.
constexpr Duration longest = 4s;

// The keys of the space at one moment, as backup tools copy them.
class Dump {
 public:
  explicit Dump(RawRedis& admin) {
    for (const test::RawReply& key : admin.say({"KEYS", "{lockset}*"}).list) {
      keys_.push_back({key.text, admin.text({"PTTL", key.text}), admin.text({"DUMP", key.text})});
    }
  }
  void restore(RawRedis& admin) const {
    admin.say({"FLUSHALL"});
    for (const Key& key : keys_) {
      admin.say({"RESTORE", key.name, key.left == "-1" ? "0" : key.left, key.value});
    }
  }

 private:
  struct Key {
    std::string name;
    std::string left;  // the rest of its life, in milliseconds
    std::string value;
  };
  std::vector<Key> keys_;
};

class RedisRestore : public RedisServerTest {
 protected:
  // Clients of a space with a short quarantine; the first grant has opened the short way.
  bool begin(const std::vector<std::string>& lines = {}) {
    if (!start_own(lines)) return false;
    Client first = client("first");
    first.change(SetMaxLease{longest});
    EXPECT_TRUE(first.release(first.take({write("a")}, {.lease = longest}).stamp));
    return true;
  }
  static void expect_quarantine(Client& client, const Wanted& wanted) {
    const Result<AcquireOutcome> outcome = client.ask(wanted, {.lease = longest});
    ASSERT_FALSE(outcome) << test::describe(outcome);
    EXPECT_EQ(outcome.error().code, Errc::unavailable) << outcome.error().message;
    EXPECT_TRUE(says(outcome.error().message, "no new grants")) << outcome.error().message;
  }
  static void expect_no_quarantine(Client& client) {
    EXPECT_FALSE(client.inspect().quarantine);
    EXPECT_TRUE(client.release(client.take({write("free")}, {.lease = longest}).stamp));
    EXPECT_FALSE(client.inspect().quarantine);
  }
  static void wait_out(Client& client) {
    EXPECT_TRUE(eventually([&] { return !client.inspect().quarantine; }, 3 * test::patience));
  }
  // The holder's next renewal keeps the lock, and no other client gets it.
  void expect_kept(Client& holder, Client& other, Stamp stamp) {
    EXPECT_TRUE(holder.renew(stamp, 1min)) << "it registers again";
    wait_out(other);
    EXPECT_EQ(other.meet_busy({write("a")}, {.lease = longest}).holder, stamp);
    EXPECT_TRUE(holder.release(stamp));
    EXPECT_GT(other.take({write("a")}, {.lease = longest}).stamp, stamp);
  }
};

// SEM 7: a living client's copy of the configuration is not mistaken for a later one
TEST_F(RedisRestore, AVersionDoesNotComeAgain) {
  if (!begin()) return;
  Client living = client("living");
  const Dump dump(admin());
  client("operator").set_permits("x", Mode::read, 1000);
  living.reload();
  const std::int64_t known = living.config().version;
  dump.restore(admin());
  Client later = client("later");
  later.set_permits("x", Mode::read, 1);
  EXPECT_GT(later.config().version, known);
  wait_out(later);
  Client reader = client("reader");
  const auto granted = reader.ask({read("x")}, {.lease = longest});
  const auto second = living.ask_once({read("x")}, {.lease = longest});
  EXPECT_FALSE(second && std::holds_alternative<Grant>(*second)) << test::describe(second);
}

// The same, with the server's own file
TEST_F(RedisRestore, AVersionDoesNotComeAgainFromAFile) {
  if (!begin({"appendonly no"})) return;
  Client living = client("living");
  admin().say({"SAVE"});
  const std::filesystem::path file = folder() / "data" / "dump.rdb";
  ASSERT_TRUE(std::filesystem::exists(file));
  std::filesystem::copy_file(file, folder() / "backup.rdb");
  client("operator").set_permits("x", Mode::read, 1000);
  living.reload();
  const std::int64_t known = living.config().version;
  server().stop();
  std::filesystem::copy_file(folder() / "backup.rdb", file,
                             std::filesystem::copy_options::overwrite_existing);
  server().start();
  reconnect();
  Client later = client("later");
  EXPECT_LT(later.config().version, known) << "it is not the backup";
  later.set_permits("x", Mode::read, 1);
  EXPECT_GT(later.config().version, known);
  EXPECT_TRUE(eventually([&] { return living.backend().load_config(soon()).ok(); }));
  wait_out(later);
  EXPECT_TRUE(later.take({read("x")}, {.lease = longest}).stamp);
  const auto second = living.ask_once({read("x")}, {.lease = longest});
  EXPECT_FALSE(second && std::holds_alternative<Grant>(*second)) << test::describe(second);
}

// A newcomer knows nothing that the dump lacks, and may be the first to call
TEST_F(RedisRestore, AnOlderDumpBeginsTheQuarantine) {
  if (!begin()) return;
  Client holder = client("holder");
  const Dump dump(admin());
  const Stamp stamp = holder.take({write("a")}, {.lease = 1min}).stamp;
  dump.restore(admin());
  Client newcomer = client("newcomer");
  expect_quarantine(newcomer, {write("a")});
  expect_kept(holder, newcomer, stamp);
}

// A client from before that has seen no more than the dump contains
TEST_F(RedisRestore, ABystanderMeetsTheQuarantineToo) {
  if (!begin()) return;
  Client holder = client("holder");
  Client bystander = client("bystander");
  EXPECT_TRUE(bystander.release(bystander.take({write("b")}, {.lease = longest}).stamp));
  const Dump dump(admin());
  const Stamp stamp = holder.take({write("a")}, {.lease = 1min}).stamp;
  dump.restore(admin());
  expect_quarantine(bystander, {write("a")});
  expect_kept(holder, bystander, stamp);
}

// A dump that is loaded into a space that was not emptied before
TEST_F(RedisRestore, KeysThatAreReplacedAreNoticed) {
  if (!begin()) return;
  Client bystander = client("bystander");
  EXPECT_TRUE(bystander.release(bystander.take({write("b")}, {.lease = longest}).stamp));
  for (const test::RawReply& key : admin().say({"KEYS", "{lockset}*"}).list) {
    admin().say({"RESTORE", key.text, "0", admin().text({"DUMP", key.text}), "REPLACE"});
  }
  expect_quarantine(bystander, {write("a")});
}

// `lockset init` after a wipe makes an empty space. A client that lived protects its holds.
TEST_F(RedisRestore, AWipeAndAnInitAreNoticedByWhoLivedThroughThem) {
  for (const char* const wipe : {"FLUSHALL", "FLUSHDB", "DEL"}) {
    if (!begin()) return;
    Client holder = client("holder");
    const Stamp stamp = holder.take({write("a")}, {.lease = 1min}).stamp;
    if (wipe == std::string("DEL")) {
      for (const test::RawReply& key : admin().say({"KEYS", "{lockset}*"}).list) {
        admin().say({"DEL", key.text});
      }
    } else {
      admin().say({wipe});
    }
    init_space(url(), soon()).value();
    Client newcomer = client("newcomer");
    newcomer.change(SetMaxLease{longest});
    holder.reload();
    expect_quarantine(newcomer, {write("a")});
    expect_kept(holder, newcomer, stamp);
    // Long after it, another client that lived changes nothing.
    expect_no_quarantine(newcomer);
  }
}

TEST_F(RedisRestore, WhoCallsLongAfterAnInitBeginsNoQuarantine) {
  if (!begin()) return;
  Client idle = client("idle");
  idle.reload();
  admin().say({"FLUSHALL"});
  init_space(url(), soon()).value();
  Client newcomer = client("newcomer");
  newcomer.change(SetMaxLease{longest});
  const auto second = [&] { return std::stoll(admin().say({"TIME"}).list.at(0).text); };
  const auto made = second();
  EXPECT_TRUE(eventually([&] { return second() > made + longest / 1s + 1; }));
  idle.reload();
  expect_no_quarantine(idle);
  expect_no_quarantine(newcomer);
}

// Two databases change places: the space is another one
TEST_F(RedisRestore, ADatabaseInThePlaceOfOursIsNoticed) {
  if (!begin()) return;
  init_space(at({.password = password(), .database = "1"}), soon()).value();
  Client holder = client("holder");
  const Stamp stamp = holder.take({write("a")}, {.lease = 1min}).stamp;
  admin().say({"SWAPDB", "0", "1"});
  holder.reload();
  Client newcomer = client("newcomer");
  expect_quarantine(newcomer, {write("a")});
  EXPECT_TRUE(holder.renew(stamp, 1min));
}

// --- a primary that was demoted for a while; the process is the same ---

class RedisDemoted : public RedisRestore {
 protected:
  bool begin_pair() {
    if (!begin({"repl-diskless-sync-delay 0"})) return false;
    replica_ = std::make_unique<PrivateServer>(
        "redis", std::vector<std::string>{"replicaof 127.0.0.1 " + std::to_string(server().port()),
                                          "masterauth " + password(), "requirepass " + password(),
                                          "repl-diskless-sync-delay 0"});
    replica_admin_ = std::make_unique<RawRedis>(
        "redis://:" + password() + "@127.0.0.1:" + std::to_string(replica_->port()) + "/0");
    return eventually([&] { return replica_admin_->info("master_link_status") == "up"; }, 30s);
  }
  void promote(RawRedis& one) { one.say({"REPLICAOF", "NO", "ONE"}); }

  std::unique_ptr<PrivateServer> replica_;
  std::unique_ptr<RawRedis> replica_admin_;
};

// It has taken the state of a server that missed the last grant.
TEST_F(RedisDemoted, AndTookAnOlderStateBeginsTheQuarantine) {
  if (!begin_pair()) return;
  Client holder = client("holder");
  Client bystander = client("bystander");
  EXPECT_TRUE(bystander.release(bystander.take({write("b")}, {.lease = longest}).stamp));
  admin().say({"SET", "replicated", "1"});
  ASSERT_TRUE(eventually([&] { return replica_admin_->text({"GET", "replicated"}) == "1"; }, 30s));
  promote(*replica_admin_);
  const Stamp stamp = holder.take({write("a")}, {.lease = 1min}).stamp;
  admin().say({"CONFIG", "SET", "masterauth", password()});
  admin().say({"REPLICAOF", "127.0.0.1", std::to_string(replica_->port())});
  ASSERT_TRUE(eventually([&] { return admin().info("master_link_status") == "up"; }, 30s));
  promote(admin());
  ASSERT_TRUE(test::look_into(admin(), "lockset").empty()) << "the test is not about a loss";
  expect_quarantine(bystander, {write("a")});
  expect_kept(holder, bystander, stamp);
}

// Meanwhile another one may have granted something that this one does not know.
TEST_F(RedisDemoted, AndKeptItsStateBeginsTheQuarantine) {
  if (!begin()) return;
  Client bystander = client("bystander");
  EXPECT_TRUE(bystander.release(bystander.take({write("b")}, {.lease = longest}).stamp));
  for (int i = 0; i < 2; ++i) {
    admin().say({"REPLICAOF", "127.0.0.1", "1"});
    promote(admin());
    // Longer ago than another primary would need before it may grant.
    admin().say({"HSET", "{lockset}", "seen", "1"});
    // One client was connected all the time, one was not.
    if (i == 0) {
      expect_quarantine(bystander, {write("a")});
    } else {
      Client newcomer = client("newcomer");
      expect_quarantine(newcomer, {write("a")});
    }
    wait_out(bystander);
    expect_no_quarantine(bystander);
  }
}

// While it is demoted it answers nobody from its data.
TEST_F(RedisDemoted, ItAnswersNothing) {
  if (!begin()) return;
  Client mine = client();
  const Stamp stamp = mine.take({write("a")}, {.lease = longest}).stamp;
  admin().say({"REPLICAOF", "127.0.0.1", "1"});
  const std::string message = failed(mine.backend().inspect({}, soon()), Errc::unavailable);
  EXPECT_TRUE(says(message, "replica")) << message;
  failed(mine.backend().release(stamp, mine.owner().app, soon()), Errc::unavailable);
  failed(mine.ask_once({write("b")}), Errc::unavailable);
  // A newcomer has the wrong address.
  refused(url(), Errc::misconfigured);
}

// Records that the store failed during an acquire.
class Retries : public Observer {
 public:
  void on_event(const Event& event) noexcept override {
    if (event.kind == Event::Kind::retried) ++count;
  }
  std::atomic<int> count = 0;
};

// SEM 13: a waiter survives a failover. Its next calls reach the server that they are connected to,
// and later ones the server that they connect to then.
TEST_F(RedisDemoted, AWaiterWaitsOn) {
  if (!begin()) return;
  Client boss = client("boss");
  const auto retries = std::make_shared<Retries>();
  Locks locks = lockset::open(url(), {.store_patience = 10min, .observer = retries}).value();
  const Stamp stamp = boss.take({write("a")}).stamp;
  std::jthread waiter([&] {
    const auto hold = locks.acquire({write("a")}, {.wait = 10min});
    EXPECT_TRUE(hold) << hold.error().message;
  });
  EXPECT_TRUE(eventually([&] { return boss.inspect().waiters.size() == 1; }));
  admin().say({"REPLICAOF", "127.0.0.1", "1"});
  EXPECT_TRUE(eventually([&] { return retries->count >= 3; }, 30s));
  promote(admin());
  EXPECT_TRUE(eventually([&] {
    const auto released = boss.backend().release(stamp, "boss", soon());
    return released && *released;
  }));
}

// Events at a primary are no reason for a quarantine if nobody grants elsewhere.
TEST_F(RedisDemoted, AFirstReplicaBeginsNoQuarantine) {
  if (!begin()) return;
  Client bystander = client("bystander");
  const std::string before = admin().info("master_replid");
  PrivateServer replica("redis", {"replicaof 127.0.0.1 " + std::to_string(server().port()),
                                  "masterauth " + password(), "requirepass " + password()});
  ASSERT_TRUE(eventually([&] { return admin().info("master_replid") != before; }, 30s));
  expect_no_quarantine(bystander);
  admin().say({"BGREWRITEAOF"});
  admin().say({"SCRIPT", "FLUSH"});
  Client newcomer = client("newcomer");
  expect_no_quarantine(newcomer);
}

}  // namespace
}  // namespace lockset::redis_tests
