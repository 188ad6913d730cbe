// SEM 8, 14, 20: the primary dies and its replica replaces it, at the same address. Grants that the
// replica did not receive must not be granted twice.
#include "tests/redis/fixture.h"

namespace lockset::redis_tests {
namespace {

// The quarantine: as long as a test's steps during it may take on a busy machine.
constexpr Duration brief = 6s;

class RedisFailover : public RedisServerTest {
 protected:
  bool start_pair() {
    // Copied at once, not after five seconds.
    if (!start_own({"repl-diskless-sync-delay 0"})) return false;
    replica_ = std::make_unique<PrivateServer>(
        "redis", std::vector<std::string>{"replicaof 127.0.0.1 " + std::to_string(server().port()),
                                          "masterauth " + password(), "requirepass " + password()});
    replica_admin_ = std::make_unique<RawRedis>(
        "redis://:" + password() + "@127.0.0.1:" + std::to_string(replica_->port()) + "/0");
    return eventually([&] { return replica_admin_->info("master_link_status") == "up"; }, 30s);
  }
  // The replica has everything that the primary was told so far.
  void replicate() {
    admin().say({"SET", "replicated", Token::random().hex()});
    const std::string value = admin().text({"GET", "replicated"});
    ASSERT_TRUE(eventually([&] { return replica_admin_->text({"GET", "replicated"}) == value; }));
  }
  // From here on the replica gets nothing from the primary, which still grants.
  void part() { replica_admin_->say({"REPLICAOF", "NO", "ONE"}); }
  // The replica answers where the primary did.
  void fail_over() {
    const std::string port = std::to_string(server().port());
    server().kill();
    part();
    ASSERT_TRUE(eventually([&] {
      return !replica_admin_->ask({"CONFIG", "SET", "port", port}).is_error;
    }));
    reconnect();
  }
  // Renews until the client has found the way to the new server.
  static bool renewed(Client& client, Stamp stamp) {
    bool there = false;
    EXPECT_TRUE(eventually([&] {
      const auto reply = client.ask_to_renew(stamp, 30s);
      if (reply) there = reply->has_value();
      return reply.ok();
    }));
    return there;
  }
  static void expect_quarantine(Client& client, const Wanted& wanted) {
    // The first call may use a connection that died.
    EXPECT_TRUE(eventually([&] { return client.backend().load_config(soon()).ok(); }));
    const std::string message = failed(client.ask(wanted), Errc::unavailable);
    EXPECT_TRUE(says(message, "no new grants")) << message;
  }
  static void wait_out(Client& client) {
    EXPECT_TRUE(client.inspect().quarantine);
    EXPECT_TRUE(eventually([&] { return !client.inspect().quarantine; }, 3 * test::patience));
  }

  std::unique_ptr<PrivateServer> replica_;
  std::unique_ptr<RawRedis> replica_admin_;
};

TEST_F(RedisFailover, AHoldThatWasCopiedGoesOn) {
  if (!start_pair()) return;
  Client holder = client("holder");
  Client other = client("other");
  other.change(SetMaxLease{brief});
  holder.reload();
  const Stamp stamp = holder.take({write("a"), read("b")}, {.lease = 30s}).stamp;
  replicate();
  fail_over();
  expect_quarantine(other, {write("x")});
  EXPECT_TRUE(renewed(holder, stamp));
  wait_out(other);
  EXPECT_EQ(other.meet_busy({write("b"), write("z")}).holder, stamp);
  EXPECT_TRUE(holder.release(stamp));
  EXPECT_GT(other.take({write("a"), write("b")}).stamp, stamp);
}

// The replica never received the grant. Its living holder stays the only one; the hold of a dead
// one ends.
TEST_F(RedisFailover, AHoldThatWasNotCopiedIsRegisteredAgain) {
  if (!start_pair()) return;
  Client holder = client("holder");
  Client dead = client("dead");
  Client other = client("other");
  other.change(SetMaxLease{brief});
  for (Client* one : {&holder, &dead}) one->reload();
  replicate();
  part();
  const Stamp kept = holder.take({write("a"), read("b")}, {.lease = 30s}).stamp;
  const Stamp left = dead.take({write("c")}).stamp;
  fail_over();
  ASSERT_TRUE(test::look_into(admin(), "lockset").empty()) << "the test is not about a loss";
  expect_quarantine(other, {write("a")});
  EXPECT_TRUE(renewed(holder, kept));
  wait_out(other);
  EXPECT_EQ(other.meet_busy({write("a")}).holder, kept);
  EXPECT_EQ(other.meet_busy({write("b")}).holder, kept);
  // SEM 8: never used again, although the replica had not seen it.
  const Stamp next = other.take({write("c")}).stamp;
  EXPECT_GT(next, left);
  EXPECT_GT(next, kept);
}

// A hold that was released only at the primary comes back, and ends with its lease: it only delays.
TEST_F(RedisFailover, AReleaseThatWasNotCopiedIsOnlyLate) {
  if (!start_pair()) return;
  Client holder = client("holder");
  Client other = client("other");
  other.change(SetMaxLease{brief});
  holder.reload();
  const Stamp stamp = holder.take({write("a")}, {.lease = brief}).stamp;
  replicate();
  part();
  EXPECT_TRUE(holder.release(stamp));
  fail_over();
  expect_quarantine(other, {write("a")});
  EXPECT_TRUE(holder.is_live(stamp)) << "the test is not about a loss";
  EXPECT_TRUE(eventually(
      [&] {
        const auto outcome = other.ask({write("a")});
        return outcome && std::holds_alternative<Grant>(*outcome);
      },
      3 * test::patience));
}

// A proxy that speaks the protocol may keep a client's connection and change the server behind it:
// then the client still knows the earlier process. The copied data names that process, too.
TEST_F(RedisFailover, ItIsNoticedWhereTheProcessSeemsTheSame) {
  if (!start_pair()) return;
  Client mine = client();
  mine.change(SetMaxLease{brief});
  EXPECT_TRUE(mine.release(mine.take({write("a")}).stamp));
  replicate();
  fail_over();
  admin().say({"HSET", "{lockset}", "run", admin().info("run_id")});
  admin().say({"HDEL", "{lockset}", "calm"});
  expect_quarantine(mine, {write("a")});
}

// No version of the configuration is used twice (SEM 7): a client that knows permits which the
// replica missed restores them.
TEST_F(RedisFailover, TheConfigurationComesBack) {
  if (!start_pair()) return;
  Client mine = client();
  mine.change(SetMaxLease{brief});
  replicate();
  part();
  mine.set_permits("a", Mode::read, 5);
  const SpaceConfig before = mine.config();
  fail_over();
  EXPECT_TRUE(eventually([&] { return mine.backend().load_config(soon()).ok(); }));
  mine.reload();
  EXPECT_EQ(mine.config(), before);
  wait_out(mine);
  mine.set_permits("a", Mode::read, 6);
  EXPECT_GT(mine.config().version, before.version);
}

}  // namespace
}  // namespace lockset::redis_tests
