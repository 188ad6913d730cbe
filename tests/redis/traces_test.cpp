// SEM 5, 10, 19: ended holds and waiters leave nothing in the store.
#include <optional>
#include <set>

#include "tests/redis/fixture.h"

namespace lockset::redis_tests {
namespace {

class RedisTraces : public RedisServerTest {
 protected:
  [[nodiscard]] std::set<std::string> keys() {
    std::set<std::string> names;
    for (const test::RawReply& key : admin().say({"KEYS", "*"}).list) names.insert(key.text);
    return names;
  }
  [[nodiscard]] std::string string_of(const std::string& name) {
    return admin().text({"GET", "{lockset}:name:" + name});
  }
  // Sooner than the strings expire, a minute after the leases.
  static void sweep_all(Client& client) {
    EXPECT_TRUE(eventually([&] { return client.holds().empty(); }));
    while (client.backend().sweep(soon()).value() > 0) {
    }
  }
};

const test::Ask briefly{.lease = 50ms};

TEST_F(RedisTraces, AReleasedSetLeavesNothing) {
  if (!start()) return;
  Client one = client();
  one.set_permits("c", Mode::write, 2);
  const std::set<std::string> before = keys();
  const Grant first = one.take({write("a"), read("b"), write("c")});
  const Grant further = one.take({write("c")});
  EXPECT_TRUE(one.release(first.stamp));
  EXPECT_TRUE(one.release(further.stamp));
  EXPECT_EQ(keys(), before);
}

TEST_F(RedisTraces, ASweepLeavesNothing) {
  if (!start()) return;
  Client one = client();
  one.set_permits("c", Mode::write, 2);
  const std::set<std::string> before = keys();
  one.take({write("a"), read("b"), write("c")}, briefly);
  one.take({write("c"), write("d")}, briefly);
  sweep_all(one);
  EXPECT_EQ(keys(), before);
}

// SEM 13
TEST_F(RedisTraces, ASweepWakesWhoWaits) {
  if (!start()) return;
  Client one = client();
  Client two = client();
  const Stamp stamp = one.take({write("a")}).stamp;
  const Busy busy = two.meet_busy({write("a")}, {.will_wait = true});
  const auto woken = [&] {
    return admin().say({"HVALS", "{lockset}:waiters"}).list.at(0).text.substr(16, 16);
  };
  ASSERT_EQ(woken(), std::string(16, '0'));
  admin().say({"ZADD", "{lockset}:leases", "XX", "1", std::to_string(stamp.value)});
  EXPECT_EQ(one.backend().sweep(soon()).value(), 1U);
  EXPECT_NE(woken(), std::string(16, '0')) << "when it was woken, by the store's clock";
}

// A person who looks with GET sees the holder, not the earlier one
TEST_F(RedisTraces, WhoFollowsADeadWriterTakesItsPlace) {
  if (!start()) return;
  Client one = client();
  const std::set<std::string> before = keys();
  one.take({write("a")}, briefly);
  std::optional<Grant> next;
  ASSERT_TRUE(eventually([&] { return (next = one.try_take({write("a")})).has_value(); }));
  EXPECT_EQ(string_of("a"), std::to_string(next->stamp.value));
  EXPECT_TRUE(one.release(next->stamp));
  EXPECT_EQ(keys(), before);
}

TEST_F(RedisTraces, AReaderTidiesUpAfterADeadWriter) {
  if (!start()) return;
  Client one = client();
  one.take({write("a")}, briefly);
  std::optional<Grant> next;
  ASSERT_TRUE(eventually([&] { return (next = one.try_take({read("a")})).has_value(); }));
  EXPECT_EQ(string_of("a"), "");
}

// SEM 10: it ends as a whole; the sweep removes the name that nobody asks for
TEST_F(RedisTraces, ADeadSetOfWhichOneNameWasTakenLeavesNothing) {
  if (!start()) return;
  Client one = client();
  const std::set<std::string> before = keys();
  one.take({write("a"), write("b"), read("c")}, briefly);
  std::optional<Grant> next;
  ASSERT_TRUE(eventually([&] { return (next = one.try_take({write("a")})).has_value(); }));
  EXPECT_TRUE(one.release(next->stamp));
  sweep_all(one);
  EXPECT_EQ(keys(), before);
}

// SEM 9: of a set that has expired, and of which others have taken a name since
TEST_F(RedisTraces, ALateReleaseOfADeadSetTouchesNoLaterWriter) {
  if (!start()) return;
  Client one = client();
  Client two = client();
  const Stamp dead = one.take({write("a"), write("b")}, briefly).stamp;
  std::optional<Grant> next;
  ASSERT_TRUE(eventually([&] { return (next = two.try_take({write("a")})).has_value(); }));
  EXPECT_FALSE(one.release(dead));
  EXPECT_EQ(one.meet_busy({write("a")}).holder, next->stamp);
  EXPECT_EQ(string_of("a"), std::to_string(next->stamp.value));
}

// The waiter is in the lines of both names, and nobody ever releases "b".
TEST_F(RedisTraces, ADeadWaiterOfNamesThatNobodyReleasesLeavesNothing) {
  if (!start()) return;
  Client one = client();
  const std::set<std::string> before = keys();
  const Grant first = one.take({write("a")});
  {
    Client two = client();
    two.meet_busy({write("a"), write("b")}, {.will_wait = true});
  }  // without leaving the line
  EXPECT_EQ(admin().number({"HLEN", "{lockset}:waiters"}), 1);
  EXPECT_TRUE(one.release(first.stamp));  // nobody learns that it is woken
  EXPECT_EQ(one.inspect().waiters.size(), 0U);
  EXPECT_EQ(admin().number({"EXISTS", "{lockset}:wait:b"}), 1);
  sweep_all(one);
  EXPECT_EQ(keys(), before);
}

TEST_F(RedisTraces, ALivingWaiterStaysInItsLines) {
  if (!start()) return;
  Client one = client();
  one.take({write("a")});
  Client two = client();
  const Busy busy = two.meet_busy({write("a"), write("b")}, {.will_wait = true});
  EXPECT_EQ(one.backend().sweep(soon()).value(), 0U);
  EXPECT_EQ(one.inspect().waiters.size(), 1U);
  EXPECT_EQ(admin().number({"EXISTS", "{lockset}:wait:b"}), 1);
}

}  // namespace
}  // namespace lockset::redis_tests
