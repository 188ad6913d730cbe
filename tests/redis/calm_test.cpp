// SEM 7, 8, 20: the short way of acquires and releases (ADR 0019) is open only as long as nothing
// has changed that they would have to look at.
#include <optional>
#include <string>

#include "tests/redis/fixture.h"

namespace lockset::redis_tests {
namespace {

class RedisCalm : public RedisServerTest {
 protected:
  [[nodiscard]] std::string calm() { return admin().text({"HGET", "{lockset}", "calm"}); }
  [[nodiscard]] std::int64_t last() { return admin().number({"HGET", "{lockset}", "last"}); }
  void expect_open() {
    std::string known;
    for (const char* const field : {"run", "born", "version"}) {
      known += (known.empty() ? "" : " ") + admin().text({"HGET", "{lockset}", field});
    }
    EXPECT_EQ(calm(), known);
  }
  void pass_through(Client& client) {
    EXPECT_TRUE(client.release(client.take({write("a")}).stamp));
  }
};

TEST_F(RedisCalm, TheFirstGrantOpensIt) {
  if (!start()) return;
  Client one = client();
  EXPECT_EQ(calm(), "");
  const Grant grant = one.take({write("a")});
  expect_open();
  EXPECT_TRUE(one.release(grant.stamp));
  pass_through(one);
  expect_open();
}

TEST_F(RedisCalm, AChangeOfTheConfigurationClosesIt) {
  if (!start()) return;
  Client one = client();
  Client other = client();
  const Grant held = one.take({write("held")});
  for (const ConfigChange& change :
       {ConfigChange(SetPermits{"a", Mode::write, 2}), ConfigChange(SetMaxLease{2min})}) {
    pass_through(one);
    expect_open();
    other.change(change);
    EXPECT_EQ(calm(), "");
    pass_through(other);
    expect_open();
    // It is open only for clients that know the change.
    const Result<AcquireOutcome> outcome = one.ask_once({write("a")});
    EXPECT_TRUE(outcome && std::holds_alternative<Stale>(*outcome)) << test::describe(outcome);
    one.reload();
  }
  EXPECT_TRUE(one.release(held.stamp));
}

TEST_F(RedisCalm, ALossOfStateClosesIt) {
  if (!start()) return;
  Client one = client();
  one.change(SetMaxLease{1s});
  const Grant held = one.take({write("held")}, {.lease = 1s});
  expect_open();
  // Older than what the client has seen, and everything else is unchanged.
  admin().say({"HSET", "{lockset}", "last", std::to_string(held.stamp.value - 1)});
  const Result<AcquireOutcome> outcome = one.ask_once({write("a")});
  EXPECT_FALSE(outcome) << test::describe(outcome);
  EXPECT_EQ(calm(), "");
  EXPECT_TRUE(eventually([&] { return !one.inspect().quarantine; }));
  EXPECT_GT(one.take({write("a")}).stamp, held.stamp);
  expect_open();
}

TEST_F(RedisCalm, ARestartThatKeptEverythingClosesIt) {
  if (!start_own()) return;
  Client one = client();
  one.change(SetMaxLease{5s});  // the restart is part of it
  pass_through(one);
  const std::string before = calm();
  EXPECT_NE(before, "");
  server().restart();
  reconnect();
  EXPECT_EQ(calm(), before) << "it was not kept";
  Client other = client();
  const Result<AcquireOutcome> outcome = other.ask({write("a")});
  EXPECT_FALSE(outcome) << test::describe(outcome);
  EXPECT_EQ(calm(), "");
}

// Of everything that it looks at, only this shows a dump that was just loaded.
TEST_F(RedisCalm, AStateThatWasLoadedClosesIt) {
  if (!start()) return;
  Client one = client();
  one.change(SetMaxLease{1s});
  EXPECT_TRUE(one.release(one.take({write("a")}, {.lease = 1s}).stamp));
  expect_open();
  const std::string now = admin().say({"TIME"}).list.at(0).text + "000000";
  admin().say({"HSET", "{lockset}", "seen", std::to_string(std::stoll(now) + 60'000'000)});
  const std::string here = "{lockset}:here";
  admin().say({"RESTORE", here, "0", admin().text({"DUMP", here}), "REPLACE"});
  const Result<AcquireOutcome> outcome = one.ask_once({write("a")}, {.lease = 1s});
  EXPECT_FALSE(outcome) << test::describe(outcome);
  EXPECT_EQ(calm(), "");
}

// Two grants within a microsecond, or a clock that was set back: the short way gives way to the
// long one
TEST_F(RedisCalm, AStampIsNeverAtOrBelowTheLastOne) {
  if (!start()) return;
  Client one = client();
  pass_through(one);
  const std::int64_t ahead = last() + 60'000'000;
  admin().say({"HSET", "{lockset}", "last", std::to_string(ahead)});
  expect_open();
  EXPECT_EQ(one.take({write("a")}).stamp.value, ahead + 1);
  EXPECT_EQ(one.take({write("b"), read("c")}).stamp.value, ahead + 2);
  EXPECT_EQ(last(), ahead + 2);
}

// SEM 8: raised to the clock where it was found behind
TEST_F(RedisCalm, TheFirstStampIsOfTheClock) {
  if (!start()) return;
  const Grant grant = client().take({write("a")});
  EXPECT_GE(grant.stamp.value, grant.store_time_us);
}

// SEM 8
TEST_F(RedisCalm, AStampIsAboveWhatTheRequestHasSeen) {
  if (!start()) return;
  Client one = client();
  pass_through(one);
  const Stamp least{last() + 60'000'000};
  EXPECT_GE(one.take({write("a")}, {.min_stamp = least}).stamp, least);
}

}  // namespace
}  // namespace lockset::redis_tests
