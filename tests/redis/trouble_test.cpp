// SEM 5, 14: the server refuses or fails: an error of the right kind, no part of a set stays held,
// and the client continues on its own afterwards.
#include <hiredis/hiredis.h>

#include <thread>

#include "backends/redis/reply.h"
#include "tests/redis/fixture.h"
#include "tests/support/without_threads.h"

namespace lockset::redis_tests {
namespace {

class RedisTrouble : public RedisServerTest {
 protected:
  // While the server accepts no changes: nothing new, nothing half; and afterwards everything
  // works.
  void expect_no_grant(Client& mine, const std::string& words) {
    const std::size_t before = keys_of_holds();
    for (const Wanted& wanted : {Wanted{write("a")}, Wanted{write("a"), read("b"), write("c")}}) {
      const std::string message = failed(mine.ask_once(wanted), Errc::unavailable);
      EXPECT_TRUE(says(message, words)) << message;
    }
    EXPECT_EQ(keys_of_holds(), before);
  }
  void expect_grant(Client& mine) {
    EXPECT_TRUE(mine.release(mine.take({write("a"), read("b"), write("c")}).stamp));
  }
};

TEST_F(RedisTrouble, NoConnectionIsLeft) {
  if (!start_own({"maxclients 12"})) return;
  std::vector<std::unique_ptr<RawRedis>> occupants;
  const auto full = [&] {
    try {
      occupants.push_back(std::make_unique<RawRedis>(url()));
      occupants.back()->say({"PING"});
      return false;
    } catch (const std::exception&) {
      return true;
    }
  };
  ASSERT_TRUE(eventually(full));
  const std::string message = refused(url(), Errc::unavailable);
  EXPECT_TRUE(says(message, "maxclients")) << message;
  occupants.clear();
  // The server may not have noticed yet that they are gone.
  ASSERT_TRUE(eventually([&] { return open_backend(url(), soon()).ok(); }));
  Client mine = client();
  expect_grant(mine);
}

TEST_F(RedisTrouble, NoMemoryIsLeft) {
  if (!start()) return;
  Client mine = client();
  const Stamp released = mine.take({write("x"), read("y")}).stamp;
  const Stamp broken = mine.take({write("z")}).stamp;
  const Stamp kept = mine.take({write("kept"), read("read")}).stamp;
  admin().say({"CONFIG", "SET", "maxmemory", "1"});
  expect_no_grant(mine, "maxmemory");
  // Existing holds continue, and can end.
  EXPECT_TRUE(mine.renew(kept, 2min));
  EXPECT_TRUE(mine.is_live(kept));
  EXPECT_TRUE(mine.release(released));
  EXPECT_TRUE(mine.break_hold(broken));
  const auto changed = mine.backend().change_config(SetPermits{"a", Mode::read, 2}, soon());
  EXPECT_TRUE(says(failed(changed, Errc::unavailable), "maxmemory"));
  admin().say({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_TRUE(mine.release(kept));
  expect_grant(mine);
}

TEST_F(RedisTrouble, NoReplicaKeepsUp) {
  if (!start()) return;
  Client mine = client();
  const Stamp kept = mine.take({write("kept")}).stamp;
  admin().say({"CONFIG", "SET", "min-replicas-to-write", "1"});
  expect_no_grant(mine, "min-replicas-to-write");
  EXPECT_TRUE(mine.is_live(kept));
  failed(mine.backend().release(kept, "app", soon()), Errc::unavailable);
  admin().say({"CONFIG", "SET", "min-replicas-to-write", "0"});
  EXPECT_TRUE(mine.release(kept));
  expect_grant(mine);
}

// Another program's script that does not end
TEST_F(RedisTrouble, AScriptKeepsTheServerBusy) {
  if (!start_own({"busy-reply-threshold 1"})) return;
  Client mine = client();
  RawRedis culprit(url());
  std::thread busy([&] { (void)culprit.ask({"EVAL", "while true do end", "0"}); });
  EXPECT_TRUE(eventually([&] { return admin().ask({"PING"}).text.starts_with("BUSY"); }));
  const std::string message = failed(mine.ask_once({write("a"), write("b")}), Errc::unavailable);
  EXPECT_TRUE(says(message, "busy")) << message;
  EXPECT_TRUE(eventually([&] { return !admin().ask({"SCRIPT", "KILL"}).is_error; }));
  busy.join();
  expect_grant(mine);
}

// A restart, a failover and SCRIPT FLUSH make the server forget scripts, at any time.
TEST_F(RedisTrouble, EveryCallSendsAForgottenScriptAgain) {
  if (!start()) return;
  Client mine = client();
  Client other = client("other");
  const auto forget = [&] { admin().say({"SCRIPT", "FLUSH"}); };
  const Token token = Token::random();
  forget();
  const Stamp stamp = mine.take({write("a"), read("b")}, {.token = token}).stamp;
  forget();
  EXPECT_TRUE(mine.renew(stamp, 1min));
  forget();
  EXPECT_EQ(other.resolve(token)->stamp, stamp);
  forget();
  const Busy busy = other.meet_busy({write("a")}, {.will_wait = true});
  forget();
  EXPECT_EQ(mine.inspect().waiters.size(), 1U);
  forget();
  EXPECT_EQ(mine.inspect({.match = InspectQuery::Match::name, .text = "a"}).holds.size(), 1U);
  forget();
  other.backend().end_wait(*busy.ticket, soon());
  EXPECT_EQ(mine.inspect().waiters.size(), 0U);
  forget();
  EXPECT_TRUE(other.break_hold(stamp));
  forget();
  mine.set_permits("a", Mode::read, 2);
  forget();
  mine.reload();
  const std::int64_t epoch = mine.take({write("@app:app")}).stamp.value;
  forget();
  EXPECT_TRUE(mine.backend().reclaim("app", epoch, soon()));
  forget();
  EXPECT_TRUE(mine.backend().sweep(soon()));
  mine.change(SetMaxLease{1s});
  admin().say({"FLUSHALL"});
  forget();
  EXPECT_TRUE(mine.backend().load_config(soon())) << "it is put back by a script, too";
}

// A client whose server hangs can still be closed, with all its connections in use.
TEST_F(RedisTrouble, AClientClosesWhileTheServerStandsStill) {
  if (!start()) return;
  auto backend = open_backend(url(), soon()).value();
  std::shared_ptr<Backend> shared = std::move(backend);
  auto mine = std::make_unique<Client>(shared);
  const Stamp stamp = mine->take({write("a")}).stamp;
  // Includes the listening connection.
  ASSERT_TRUE(mine->meet_busy({write("a")}, {.will_wait = true}).ticket);
  server().pause();
  const TimePoint by = BootClock::now() + 200ms;
  EXPECT_FALSE(mine->backend().release(stamp, "app", by));
  EXPECT_FALSE(mine->ask_once({write("b")}, {.by = by}));
  const test::Stopwatch watch;
  mine.reset();
  shared.reset();
  EXPECT_LT(watch.elapsed(), 5s);
  server().resume();
}

TEST_F(RedisTrouble, ConnectionsThatAreKilledAreMadeAnew) {
  if (!start()) return;
  Client mine = client();
  const Stamp stamp = mine.take({write("a")}).stamp;
  admin().say({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
  EXPECT_TRUE(mine.renew(stamp, 1min));
  EXPECT_TRUE(mine.release(stamp));
  expect_grant(mine);
}

// Errors are values, including this one.
TEST_F(RedisTrouble, NoThreadIsToBeHad) {
  if (!start()) return;
  EXPECT_TRUE(test::succeeds_without_threads([&](const auto& limit) {
    Client mine = client();
    Locks locks = lockset::open(url()).value();
    mine.take({write("a")});
    limit();
    // An existing connection continues; nobody listens for its wake-ups.
    const Busy busy = mine.meet_busy({write("a")}, {.will_wait = true});
    const auto tried = locks.try_acquire({write("b")});
    const auto opened = open_backend(url(), soon());
    const auto made = init_space(url(), soon());
    const auto examined = examine_space(url(), soon());
    return busy.ticket && !tried.ok() && tried.error().code == Errc::unavailable && !opened &&
           opened.error().code == Errc::unavailable && !made &&
           made.error().code == Errc::unavailable && !examined;
  }));
}

// SEM 8: beyond 2^53 Lua counts in steps of two, so one stamp would be used twice
TEST_F(RedisTrouble, NoStampIsGivenTwiceAtTheEndOfThem) {
  if (!start()) return;
  Client mine = client();
  constexpr std::int64_t last = (std::int64_t{1} << 53) - 1;
  // Earlier changes could bring a base this close.
  failed(mine.backend().change_config(RaiseStampBase{Stamp{last - 2}}, soon()), Errc::invalid);
  admin().say({"HSET", "{lockset}", "base", std::to_string(last - 2)});
  admin().say({"HDEL", "{lockset}", "calm"});
  EXPECT_EQ(mine.take({write("a")}).stamp.value, last - 1);
  EXPECT_EQ(mine.take({write("b")}).stamp.value, last);
  const std::string message = failed(mine.ask({write("c")}), Errc::misconfigured);
  EXPECT_TRUE(says(message, "stamps are used up")) << message;
  EXPECT_EQ(mine.holds().size(), 2U);
  EXPECT_TRUE(mine.release(Stamp{last}));
  EXPECT_TRUE(mine.release(Stamp{last - 1}));
}

// Redis 7.2 writes a score in the shortest form.
TEST(RedisReply, ANumberMayHaveAnExponent) {
  const auto number = [](const std::string& text) {
    redisReader* const reader = redisReaderCreate();
    const std::string wire = "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
    EXPECT_EQ(redisReaderFeed(reader, wire.data(), wire.size()), REDIS_OK);
    void* reply = nullptr;
    EXPECT_EQ(redisReaderGetReply(reader, &reply), REDIS_OK);
    redisReaderFree(reader);
    return redis::Reply(reply).number();
  };
  EXPECT_EQ(number("1795382755186712"), 1795382755186712);
  EXPECT_EQ(number("1.795e+15"), 1'795'000'000'000'000);
  EXPECT_EQ(number("1e+16"), 10'000'000'000'000'000);
  EXPECT_EQ(number("-1.5e+3"), -1500);
  EXPECT_EQ(number("9007199254740991"), 9007199254740991);
  EXPECT_EQ(number("1.5"), 1);
  EXPECT_EQ(number("12 apples"), 12);
  EXPECT_EQ(number(""), 0);
}

}  // namespace
}  // namespace lockset::redis_tests
