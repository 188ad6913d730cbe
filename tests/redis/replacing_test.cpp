// SEM 29, 30: what only Redis can get wrong when one hold takes the place of another: its keys,
// their ends, losses of state, full servers.
#include <set>
#include <string>

#include "tests/redis/fixture.h"

namespace lockset::redis_tests {
namespace {

class RedisReplacing : public RedisServerTest {
 protected:
  [[nodiscard]] std::set<std::string> keys() {
    std::set<std::string> names;
    for (const test::RawReply& key : admin().say({"KEYS", "*"}).list) names.insert(key.text);
    return names;
  }
  [[nodiscard]] std::string string_of(const std::string& name) {
    return admin().text({"GET", "{lockset}:name:" + name});
  }
  [[nodiscard]] std::string score_of(Stamp stamp) {
    return admin().text({"ZSCORE", "{lockset}:leases", text(stamp)});
  }
  // As if the lease, or the time of the note about an ended hold, had ended long ago.
  void end_lease(Stamp stamp) { admin().say({"ZADD", "{lockset}:leases", "XX", "1", text(stamp)}); }
  void end_note(Stamp stamp) { admin().say({"ZADD", "{lockset}:leases", "XX", "-1", text(stamp)}); }
  static std::string text(Stamp stamp) { return std::to_string(stamp.value); }
  // How many scripts the server has run.
  [[nodiscard]] std::int64_t calls() {
    const std::string all = admin().text({"INFO", "commandstats"});
    const std::string begin = "cmdstat_evalsha:calls=";
    const std::size_t at = all.find(begin);
    return at == std::string::npos ? 0 : std::stoll(all.substr(at + begin.size()));
  }
  // The server process is another one, or was killed, and it has everything.
  void restart(Client& client) {
    server().kill();
    server().start();
    EXPECT_TRUE(eventually([&] { return client.backend().load_config(soon()).ok(); }));
    reconnect();
    EXPECT_TRUE(client.inspect().quarantine);
  }
  static void expect_refused(Client& client, const Wanted& wanted, Stamp replaces) {
    const std::string message =
        failed(client.ask(wanted, {.replaces = replaces}), Errc::unavailable);
    EXPECT_TRUE(says(message, "no new grants")) << message;
  }
  static void wait_out(Client& client) {
    EXPECT_TRUE(eventually([&] { return !client.inspect().quarantine; }, 3 * test::patience));
  }
};

// --- keys ---

// A person who looks with GET sees who holds it, and nothing else is left
TEST_F(RedisReplacing, ItsKeysAreThoseOfAnyHold) {
  if (!start()) return;
  Client c = client();
  c.set_permits("c", Mode::write, 2);
  const std::set<std::string> before = keys();
  const Grant another = c.take({write("c")});
  const Grant first = c.take({read("a"), write("b"), write("c")});
  const Grant writer = c.take({write("a"), write("b"), write("c")}, {.replaces = first.stamp});
  EXPECT_EQ(string_of("a"), text(writer.stamp));
  EXPECT_EQ(string_of("b"), text(writer.stamp));
  EXPECT_EQ(string_of("c"), text(another.stamp));
  EXPECT_TRUE(c.release(another.stamp));
  const Grant reader = c.take({read("a"), read("b"), read("c")}, {.replaces = writer.stamp});
  EXPECT_EQ(string_of("a"), "");
  EXPECT_EQ(admin().number({"ZCARD", "{lockset}:shared:c"}), 1);
  EXPECT_TRUE(c.release(reader.stamp));
  // A note about each hold that was replaced, which the sweep removes when its time is over.
  std::set<std::string> noted = before;
  noted.insert("{lockset}:leases");
  EXPECT_EQ(keys(), noted);
  for (const test::RawReply& field : admin().say({"HKEYS", "{lockset}"}).list) {
    EXPECT_FALSE(field.text.starts_with("h:") || field.text.starts_with("t:")) << field.text;
  }
  for (const Stamp stamp : {first.stamp, writer.stamp}) {
    EXPECT_EQ(score_of(stamp).substr(0, 1), "-");
    end_note(stamp);
  }
  EXPECT_EQ(c.backend().sweep(soon()).value(), 0U) << "it is no hold";
  EXPECT_EQ(keys(), before);
}

// SEM 3, 29: one round trip, for any size
TEST_F(RedisReplacing, IsOneScript) {
  if (!start()) return;
  Client c = client();
  Wanted reads, writes;
  for (const char* const name : {"a", "b", "c", "d"}) {
    reads.push_back(read(name));
    writes.push_back(write(name));
  }
  const Grant first = c.take(reads);
  const std::int64_t before = calls();
  const Grant second = c.take(writes, {.replaces = first.stamp});
  c.take(reads, {.replaces = second.stamp});
  EXPECT_EQ(calls(), before + 2);
}

// SEM 10: the lease is inherited, and the name is not free sooner
TEST_F(RedisReplacing, AStringLastsAsLongAsTheLease) {
  if (!start()) return;
  Client c = client();
  const Grant first = c.take({read("a"), write("b")}, {.lease = 8min});
  c.take({write("a"), write("b")}, {.lease = 2s, .replaces = first.stamp});
  constexpr std::int64_t seven_minutes = 420'000;
  EXPECT_GT(admin().number({"PTTL", "{lockset}:name:a"}), seven_minutes);
  EXPECT_GT(admin().number({"PTTL", "{lockset}:name:b"}), seven_minutes);
}

// SEM 10: what is gone ends for good, and leaves nothing
TEST_F(RedisReplacing, AnExpiredHoldEndsWithTheAnswer) {
  if (!start()) return;
  Client c = client();
  const std::set<std::string> before = keys();
  const Grant one = c.take({read("a")});
  end_lease(one.stamp);
  c.meet_gone({write("a")}, {.replaces = one.stamp});
  EXPECT_EQ(keys(), before);
  const Grant many = c.take({write("a"), read("b")});
  end_lease(many.stamp);
  c.meet_gone({read("a"), read("b")}, {.replaces = many.stamp});
  EXPECT_EQ(score_of(many.stamp), "0") << "ended, also if the clock is set back";
  EXPECT_EQ(string_of("a"), "");
  EXPECT_EQ(admin().number({"EXISTS", "{lockset}:shared:b"}), 0);
  c.backend().sweep(soon()).value();
  EXPECT_EQ(keys(), before);
}

// SEM 13: and that wakes
TEST_F(RedisReplacing, AnExpiredHoldWakesWhoWaits) {
  if (!start()) return;
  Client c = client();
  Client waiter = client("waiter");
  const Grant one = c.take({read("a")});
  const Busy busy = waiter.meet_busy({write("a")}, {.will_wait = true});
  end_lease(one.stamp);
  c.meet_gone({write("a")}, {.replaces = one.stamp});
  const std::string record = admin().say({"HVALS", "{lockset}:waiters"}).list.at(0).text;
  EXPECT_NE(record.substr(16, 16), std::string(16, '0')) << "when it was woken";
}

// Somebody has deleted a key of it: others may have been there, so it is over, as for a renewal
TEST_F(RedisReplacing, AHoldThatIsNotWholeIsGone) {
  if (!start()) return;
  Client c = client();
  const Grant grant = c.take({read("a"), write("b")});
  admin().say({"DEL", "{lockset}:shared:a"});
  c.meet_gone({write("a"), write("b")}, {.replaces = grant.stamp});
  EXPECT_EQ(string_of("a"), "");
  EXPECT_FALSE(c.is_live(grant.stamp));
  EXPECT_TRUE(client("other").take({write("b")}).stamp) << "it is free";
}

// --- many holds of a name, which are not looked at one by one ---

// SEM 4, 29
TEST_F(RedisReplacing, OneOfManyReaders) {
  if (!start()) return;
  Client c = client();
  c.set_permits("a", Mode::read, 1000);
  std::vector<Grant> readers;
  for (int i = 0; i < 100; ++i) readers.push_back(c.take({read("a")}));
  EXPECT_EQ(c.meet_busy({write("a")}, {.replaces = readers[0].stamp}).holder, readers[1].stamp);
  EXPECT_EQ(c.meet_busy({write("a")}, {.replaces = readers[50].stamp}).holder, readers[0].stamp);
  for (int i = 1; i < 100; ++i) end_lease(readers[i].stamp);
  EXPECT_TRUE(c.take({write("a")}, {.replaces = readers[0].stamp}).stamp);
}

// SEM 4, 29: it makes room for itself, and for nobody else
TEST_F(RedisReplacing, OneOfManyWriters) {
  if (!start()) return;
  Client c = client();
  c.set_permits("a", Mode::write, 100);
  std::vector<Grant> writers;
  for (int i = 0; i < 99; ++i) writers.push_back(c.take({write("a")}));
  const Grant mine = c.take({write("a"), read("b")});
  const Grant writer = c.take({write("a"), write("b")}, {.replaces = mine.stamp});
  c.meet_busy({write("a")});
  EXPECT_EQ(writer.floors.at(0), writers[0].stamp);
  EXPECT_EQ(c.meet_busy({read("a"), read("b")}, {.replaces = writer.stamp}).holder,
            writers[0].stamp);
  for (const Grant& one : writers) end_lease(one.stamp);
  EXPECT_TRUE(c.take({read("a"), read("b")}, {.replaces = writer.stamp}).stamp);
}

// --- losses of state: SEM 20 ---

// The reply may have been lost with the server: then its holder renews the old one
TEST_F(RedisReplacing, AReplacedHoldDoesNotComeBackAfterARestart) {
  if (!start_own()) return;
  Client c = client();
  Client boss = client("boss");
  const Grant first = c.take({read("a")}, {.lease = 10min});
  const Grant second = c.take({read("b"), write("c")}, {.lease = 10min});
  const Grant of_first = c.take({write("a")}, {.replaces = first.stamp});
  const Grant of_second = c.take({write("b"), write("c")}, {.replaces = second.stamp});
  restart(c);
  EXPECT_TRUE(c.renew(of_first.stamp, 1min));
  // With what took their place they would not even be in anybody's way.
  EXPECT_TRUE(boss.break_hold(of_first.stamp));
  EXPECT_TRUE(boss.break_hold(of_second.stamp));
  EXPECT_FALSE(c.renew(first.stamp, 1min));
  EXPECT_FALSE(c.renew(second.stamp, 1min));
  EXPECT_FALSE(c.release(first.stamp)) << "it had ended";
  EXPECT_TRUE(c.holds().empty());
}

// Its client registers it again, as any hold
TEST_F(RedisReplacing, AfterALossTheNewHoldIsRegistered) {
  if (!start()) return;
  Client c = client();
  Client other = client("other");
  c.change(SetMaxLease{5s});
  const Grant first = c.take({read("a"), write("b")});
  const Grant writer = c.take({write("a"), write("b")}, {.replaces = first.stamp});
  admin().say({"FLUSHALL"});
  ASSERT_TRUE(c.renew(writer.stamp, 1min));
  EXPECT_TRUE(c.is_live(writer.stamp));
  other.reload();
  wait_out(other);
  EXPECT_EQ(other.meet_busy({read("a")}).holder, writer.stamp);
  const Grant reader = c.take({read("a"), read("b")}, {.replaces = writer.stamp});
  EXPECT_GT(reader.stamp, writer.stamp);
}

// In quarantine the hold may only be missing: so it is never answered that it is gone
TEST_F(RedisReplacing, InQuarantineNothingIsReplacedAndNothingGone) {
  if (!start()) return;
  Client c = client();
  c.change(SetMaxLease{5s});
  const Grant grant = c.take({read("a")});
  admin().say({"FLUSHALL"});
  expect_refused(c, {write("a")}, grant.stamp);
  ASSERT_TRUE(c.renew(grant.stamp, 1min));
  expect_refused(c, {write("a")}, grant.stamp);
  EXPECT_TRUE(c.is_live(grant.stamp));
  wait_out(c);
  EXPECT_GT(c.take({write("a")}, {.replaces = grant.stamp}).stamp, grant.stamp);
}

// An older state, as of a replica that had not heard of it, still has the old hold
TEST_F(RedisReplacing, AfterAnOlderStateTheOldHoldGivesWay) {
  for (const bool up : {true, false}) {
    if (!start()) return;
    Client c = client();
    Client other = client("other");
    c.set_permits("a", Mode::read, 10);
    c.change(SetMaxLease{5s});
    other.reload();
    const Wanted was = {up ? read("a") : write("a"), read("b")};
    const Wanted now = {up ? write("a") : read("a"), up ? write("b") : read("b")};
    const Grant old = c.take(was);
    std::vector<std::pair<std::string, std::string>> state;
    for (const std::string& key : keys()) state.emplace_back(key, admin().text({"DUMP", key}));
    const Grant grant = c.take(now, {.replaces = old.stamp});
    admin().say({"FLUSHALL"});
    for (const auto& [key, value] : state) admin().say({"RESTORE", key, "0", value});
    ASSERT_TRUE(c.renew(grant.stamp, 1min));
    EXPECT_TRUE(c.is_live(grant.stamp));
    EXPECT_FALSE(c.is_live(old.stamp)) << "both";
    wait_out(other);
    EXPECT_EQ(other.meet_busy({write("a")}).holder, grant.stamp);
    EXPECT_TRUE(c.release(grant.stamp));
    EXPECT_TRUE(other.release(other.take({write("a"), write("b")}).stamp));
  }
}

// --- trouble ---

// What ends a hold needs no memory, and what takes its place takes no more than it had
TEST_F(RedisReplacing, AFullServerReplaces) {
  if (!start()) return;
  Client c = client();
  Client waiter = client("waiter");
  const Grant one = c.take({write("a"), read("b")});
  const Grant expired = c.take({write("c"), read("d")});
  ASSERT_TRUE(waiter.meet_busy({read("a")}, {.will_wait = true}).ticket);
  end_lease(expired.stamp);
  admin().say({"CONFIG", "SET", "maxmemory", "1"});
  failed(c.ask_once({write("free")}), Errc::unavailable);
  const Grant reader = c.take({read("a"), read("b")}, {.replaces = one.stamp});
  const Grant writer = c.take({write("a"), write("b")}, {.replaces = reader.stamp});
  c.meet_gone({read("c"), read("d")}, {.replaces = expired.stamp});
  admin().say({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_TRUE(c.release(writer.stamp));
}

// SEM 29: the server accepts no change: the hold is as it was
TEST_F(RedisReplacing, ARefusedChangeChangesNothing) {
  if (!start()) return;
  Client c = client();
  const Grant grant = c.take({read("a"), write("b")});
  admin().say({"CONFIG", "SET", "min-replicas-to-write", "1"});
  failed(c.ask_once({write("a"), write("b")}, {.replaces = grant.stamp}), Errc::unavailable);
  admin().say({"CONFIG", "SET", "min-replicas-to-write", "0"});
  EXPECT_TRUE(c.renew(grant.stamp, 1min));
  EXPECT_TRUE(c.take({write("a"), write("b")}, {.replaces = grant.stamp}).stamp);
}

}  // namespace
}  // namespace lockset::redis_tests
