// cas ids begin again when the server does. What a request of before may do to the space of after.
#include "tests/memcached/fixture.h"

namespace lockset::memcached_tests {
namespace {

class Lives : public MemcachedTest {};

// Why the state is not simply in one item: this is what would happen.
TEST_F(Lives, WithOneKeyACasOfBeforeFitsAnItemOfAfterwards) {
  if (!start()) return;
  std::uint64_t seen = 0;
  {
    test::RawMemcached raw = this->raw();
    ASSERT_EQ(raw.store("add", "space", "before"), "STORED");
    seen = raw.get("space")->cas;
  }
  server().restart();
  test::RawMemcached raw = this->raw();
  ASSERT_EQ(raw.store("add", "space", "after, with holds and a quarantine"), "STORED");
  EXPECT_EQ(raw.store("cas", "space", "before", seen), "STORED");
  EXPECT_EQ(raw.get("space")->value, "before") << "holds and quarantine are gone";
}

// SEM 20: the same request, sent by the backend before a restart and delivered after it, when the
// space was put back: it changes nothing.
TEST_F(Lives, ARequestOfAnEarlierLifeChangesNothing) {
  if (!start_with_space()) return;
  test::TcpProxy proxy(server().port());
  proxy.catch_only("cas ");
  const std::string through = "memcached://127.0.0.1:" + std::to_string(proxy.port());
  Client slow(open_backend(through, soon()).value(), "slow");
  Client living = client("living");
  ASSERT_TRUE(slow.release(slow.take({write("warm")}, {.lease = 1s}).stamp));
  const std::string before = life();

  proxy.hold_next_request();
  const Result<AcquireOutcome> late =
      slow.ask_once({write("a")}, {.lease = 4s, .by = BootClock::now() + 1s});
  ASSERT_FALSE(late) << test::describe(late);
  EXPECT_EQ(late.error().code, Errc::indeterminate) << late.error().message;
  ASSERT_TRUE(proxy.caught());

  server().restart();
  living.reload();  // puts it back
  EXPECT_NE(life(), before);
  expect_refused(living);
  // The proxy's own connection ended with the server, so this is sent as the network could have.
  test::RawMemcached raw = this->raw();
  for (std::uint64_t cas = 1; cas < 20; ++cas) {
    EXPECT_EQ(raw.store("cas", "lockset:lockset:" + before, "of before", cas), "NOT_FOUND");
  }
  wait_out(living);
  EXPECT_TRUE(living.try_take({write("a")}, {.lease = 1s}));
}

}  // namespace
}  // namespace lockset::memcached_tests
