// The cost of a step when there is a lot: readers of one name, holds of others, dead waiters.
// Counted in commands that the server runs, because times depend on the machine too.
#include <string>

#include "tests/redis/fixture.h"

namespace lockset::redis_tests {
namespace {

// ARGV: how many, the first stamp, the end of each lease, its step, application, epoch, name.
constexpr const char* adding_readers = R"(
for i = 0, ARGV[1] - 1 do
  local stamp = string.format('%.0f', ARGV[2] + i)
  local token = string.format('%032d', ARGV[2] + i)
  redis.call('ZADD', '{lockset}:leases', string.format('%.0f', ARGV[3] + i * ARGV[4]), stamp)
  redis.call('HSET', '{lockset}', 't:' .. token, stamp, 'h:' .. stamp,
             stamp .. ';' .. token .. '1,' .. #ARGV[5] .. ':' .. ARGV[5] .. ARGV[6]
             .. ';1:i1:lr' .. #ARGV[7] .. ':' .. ARGV[7])
  redis.call('ZADD', '{lockset}:shared:' .. ARGV[7], stamp, stamp)
end
)";

// ARGV: how many, names for each.
constexpr const char* adding_dead_waiters = R"(
for i = 1, ARGV[1] do
  local id = string.format('%032d:1', i)
  local record = string.format('%016d%016d', 1, 0) .. '1;' .. string.format('%032d', i)
                 .. ARGV[2] .. ',3:app0;1:i1:l'
  for name = 1, ARGV[2] do
    record = record .. 'w' .. #('n' .. name) .. ':n' .. name
    redis.call('ZADD', '{lockset}:wait:n' .. name, i, 'w' .. id)
  end
  redis.call('HSET', '{lockset}:waiters', id, record)
end
)";

class RedisCrowd : public RedisServerTest {
 protected:
  struct Readers {
    int count = 0;
    std::int64_t first = 1000;  // the first stamp
    std::int64_t ends = 0;      // end of the first lease; 0: in an hour
    std::int64_t step = 1;
    std::string app = "crowd";
    std::int64_t epoch = 0;
    std::string name = "many";
  };
  void add(const Readers& some) {
    const std::int64_t ends = some.ends != 0 ? some.ends : in_an_hour();
    admin().say({"EVAL", adding_readers, "0", std::to_string(some.count),
                 std::to_string(some.first), std::to_string(ends), std::to_string(some.step),
                 some.app, std::to_string(some.epoch), some.name});
  }
  [[nodiscard]] std::int64_t in_an_hour() {
    const test::RawReply time = admin().say({"TIME"});
    return (std::stoll(time.list.at(0).text) + 3600) * 1'000'000;
  }
  // How often the server has run this command, including in scripts.
  [[nodiscard]] std::int64_t runs(const std::string& command) {
    const std::string all = admin().text({"INFO", "commandstats"});
    const std::string begin = "cmdstat_" + command + ":calls=";
    const std::size_t at = all.find(begin);
    return at == std::string::npos ? 0 : std::stoll(all.substr(at + begin.size()));
  }
  [[nodiscard]] std::int64_t readers() {
    return admin().number({"ZCARD", "{lockset}:shared:many"});
  }
};

TEST_F(RedisCrowd, AWriterLooksAtFewOfManyReaders) {
  if (!start()) return;
  Client one = client();
  one.set_permits("many", Mode::read, 100'000);
  add({.count = 5000});
  const std::int64_t before = runs("zscore");
  const Busy busy = one.meet_busy({write("many")});
  EXPECT_LT(runs("zscore"), before + 100);
  EXPECT_EQ(busy.holder.value, 1000) << "the first of them";
  EXPECT_EQ(busy.mode, Mode::read);
  EXPECT_TRUE(busy.retry_after);
}

TEST_F(RedisCrowd, AReaderTooManyLooksAtFewOfTheOthers) {
  if (!start()) return;
  Client one = client();
  one.set_permits("many", Mode::read, 5000);
  add({.count = 5000});
  const std::int64_t before = runs("zscore");
  EXPECT_EQ(one.meet_busy({read("many")}).holder.value, 1000);
  EXPECT_LT(runs("zscore"), before + 100);
}

// SEM 4, 10: dead readers do not count, wherever their entries are
TEST_F(RedisCrowd, ADeadReaderMakesRoomForAnother) {
  if (!start()) return;
  Client one = client();
  one.set_permits("many", Mode::read, 1000);
  add({.count = 600});
  add({.count = 1, .first = 2000, .ends = 1});
  add({.count = 399, .first = 3000});
  EXPECT_TRUE(one.try_take({read("many")}));
  EXPECT_FALSE(one.try_take({read("many")}));
}

// A reader with no other entry: somebody has removed its lease by hand.
TEST_F(RedisCrowd, AReaderWithoutALeaseMakesRoomInTheEnd) {
  if (!start()) return;
  Client one = client();
  one.set_permits("many", Mode::read, 1000);
  add({.count = 1000});
  admin().say({"ZREM", "{lockset}:leases", "1500"});
  EXPECT_TRUE(eventually([&] { return one.try_take({read("many")}).has_value(); }, 60s));
  EXPECT_FALSE(one.try_take({read("many")}));
}

TEST_F(RedisCrowd, AWriterTidiesUpAfterManyDeadReaders) {
  if (!start()) return;
  Client one = client();
  one.set_permits("many", Mode::read, 100'000);
  add({.count = 7000, .ends = 1});
  add({.count = 1, .first = 9000});
  const std::int64_t before = runs("evalsha");
  EXPECT_EQ(one.meet_busy({write("many")}).holder.value, 9000);
  EXPECT_EQ(readers(), 1);
  EXPECT_GE(runs("evalsha"), before + 3) << "others get their turn between";
  EXPECT_TRUE(one.break_hold(Stamp{9000}));
  add({.count = 3000, .ends = 1});
  EXPECT_TRUE(one.try_take({write("many")}));
}

// SEM 12: its own holds are found among many others', and other clients get their turn meanwhile
TEST_F(RedisCrowd, AReclaimGoesPageByPage) {
  if (!start()) return;
  Client mine = client();
  const std::int64_t ends = in_an_hour();
  add({.count = 7500, .ends = ends});
  add({.count = 1, .first = 10'000, .ends = ends + 10, .app = "app", .name = "a"});
  // More than a page with the same time.
  add({.count = 6000, .first = 20'000, .ends = ends + 10'000, .step = 0});
  add({.count = 3, .first = 30'000, .ends = ends + 10'000, .step = 0, .app = "app", .name = "b"});
  add({.count = 1, .first = 40'000, .ends = ends + 20'000, .app = "app", .name = "c"});
  add({.count = 1, .first = 50'000, .ends = 1, .app = "app", .name = "d"});
  const std::int64_t epoch = mine.take({write("@app:app")}).stamp.value;
  const std::int64_t before = runs("evalsha");
  EXPECT_EQ(mine.backend().reclaim("app", epoch, soon()).value(), 5U);
  EXPECT_GE(runs("evalsha"), before + 3);
  EXPECT_EQ(mine.backend().reclaim("app", epoch, soon()).value(), 0U);
  EXPECT_EQ(admin().number({"ZCOUNT", "{lockset}:leases", "(0", "+inf"}), 7500 + 6000 + 1);
  EXPECT_EQ(admin().number({"EXISTS", "{lockset}:shared:a", "{lockset}:shared:b",
                            "{lockset}:shared:c", "{lockset}:shared:d"}),
            0);
  EXPECT_TRUE(mine.is_live(Stamp{epoch}));
}

// SEM 12: if it is interrupted, the next call continues there
TEST_F(RedisCrowd, AReclaimThatIsCutShortGoesOn) {
  if (!start()) return;
  Client mine = client();
  const std::int64_t ends = in_an_hour();
  add({.count = 1, .ends = ends, .app = "app", .name = "a"});
  add({.count = 12'000, .first = 10'000, .ends = ends + 1});
  add({.count = 1, .first = 30'000, .ends = ends + 20'000, .app = "app", .name = "b"});
  // In the third page: an epoch that is not a number ends the script.
  admin().say({"ZADD", "{lockset}:leases", std::to_string(ends + 15'000), "25000"});
  admin().say({"HSET", "{lockset}", "h:25000", "1;" + std::string(32, '0') + "1,3:appx;1:i1:l"});
  const std::int64_t epoch = mine.take({write("@app:app")}).stamp.value;
  EXPECT_FALSE(mine.backend().reclaim("app", epoch, soon()));
  EXPECT_FALSE(mine.is_live(Stamp{1000}));
  admin().say({"ZREM", "{lockset}:leases", "25000"});
  const std::int64_t before = runs("evalsha");
  EXPECT_EQ(mine.backend().reclaim("app", epoch, soon()).value(), 2U);
  EXPECT_LE(runs("evalsha"), before + 2) << "a page, and the tidying up";
  EXPECT_FALSE(mine.is_live(Stamp{30'000}));
}

// SEM 19: the remains of dead waiters are removed, however many there are
TEST_F(RedisCrowd, ManyDeadWaitersAreSwept) {
  if (!start()) return;
  Client one = client();
  one.take({write("x")});
  Client two = client("two");
  two.meet_busy({write("x"), write("n2")}, {.will_wait = true});
  admin().say({"EVAL", adding_dead_waiters, "0", "5000", "3"});
  // Bounded in each call.
  EXPECT_TRUE(eventually([&] {
    (void)one.backend().sweep(soon()).value();
    return admin().number({"HLEN", "{lockset}:waiters"}) == 1;
  }));
  EXPECT_EQ(one.inspect().waiters.size(), 1U);
  EXPECT_EQ(admin().number({"EXISTS", "{lockset}:wait:n1", "{lockset}:wait:n3"}), 0);
  EXPECT_EQ(admin().number({"ZCARD", "{lockset}:wait:n2"}), 1);
}

}  // namespace
}  // namespace lockset::redis_tests
