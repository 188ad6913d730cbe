// SEM 13: many waiters, and a server with few connections.
#include <atomic>
#include <memory>
#include <optional>
#include <thread>

#include "tests/mysql/fixture.h"

namespace lockset::mysql_tests {
namespace {

class Crowd : public MysqlTest {};

TEST_P(Crowd, WhoHoldsGetsByWithOneConnectionAndWhoWaitsWithTwo) {
  const Address waiting = runtime_user();
  const Address holding = runtime_user();
  Client holder(open_backend(url(holding), soon()).value());
  const Stamp stamp = holder.take({write("a")}).stamp;
  EXPECT_TRUE(holder.renew(stamp, 1min));
  // The connection that examined the server at opening ends when the server ends it.
  EXPECT_TRUE(eventually([&] { return sessions_of(holding.user).size() == 1; }));
  Client waiter(open_backend(url(waiting), soon()).value());
  const Busy busy = waiter.meet_busy({write("a")}, {.will_wait = true});
  EXPECT_TRUE(busy.ticket);
  EXPECT_TRUE(eventually([&] {
    return admin().number("SELECT COUNT(*) FROM " + table("_waiters") +
                          " WHERE IS_USED_LOCK(CONCAT('lockset ', listener)) IS NOT NULL") == 1;
  }));
  EXPECT_TRUE(eventually([&] { return sessions_of(waiting.user).size() == 2; }));
  waiter.backend().end_wait(*busy.ticket, soon());
}

// If the server accepts no more connections, the existing ones must be enough.
TEST_P(Crowd, AHoldIsRenewedOverWhatThereIs) {
  const Address address = runtime_user("open-sesame", "WITH MAX_USER_CONNECTIONS 2");
  Client mine(open_backend(url(address), soon()).value());
  const Stamp stamp = mine.take({write("a")}).stamp;
  EXPECT_TRUE(eventually([&] { return sessions_of(address.user).size() == 1; }));
  const RawMysql occupant(url(address));
  // Another call keeps the one connection for a while.
  const auto rude = session();
  rude->rows("START TRANSACTION");
  rude->rows("SELECT config_version FROM " + table("_space") + " FOR UPDATE");
  std::optional<Result<AcquireOutcome>> outcome;
  std::jthread thread([&] { outcome.emplace(mine.ask_once({write("b"), write("c")})); });
  EXPECT_TRUE(rows_are_waited_for());
  const std::int64_t tries = status("Connections");
  std::jthread renewal([&] { EXPECT_TRUE(mine.renew(stamp, 1min)); });
  // Refused connections count, too.
  EXPECT_TRUE(eventually([&] { return status("Connections") > tries; }));
  rude->rows("ROLLBACK");
}

// More waiters than the server has connections: one is always left for ending a hold, and all
// waiters are served.
TEST_P(Crowd, WaitersLeaveRoomForARelease) {
  const Address address = runtime_user();
  const Stamp stamp = [&] {
    // The hold outlives its process.
    Client raw(open_backend(url(address), soon()).value());
    return raw.take({write("a")}, {.lease = 10min}).stamp;
  }();
  set_global("max_connections", "16");
  constexpr std::size_t waiters = 28;
  constexpr Duration longest_wait = 4min;  // reached only if something is broken
  std::atomic<std::size_t> waiting = 0;
  std::atomic<std::size_t> served = 0;
  class Counts final : public Observer {
   public:
    explicit Counts(std::atomic<std::size_t>& busy) : busy_(busy) {}
    void on_event(const Event& event) noexcept override {
      if (event.kind == Event::Kind::busy && !std::exchange(told_, true)) ++busy_;
    }

   private:
    std::atomic<std::size_t>& busy_;
    bool told_ = false;
  };
  test::run_threads(waiters + 1, [&](std::size_t i) {
    Options options;
    options.app = "app";
    options.open_patience = longest_wait;
    options.store_patience = longest_wait;
    if (i == 0) {
      // After all have met the holder, somebody else ends its hold.
      ASSERT_TRUE(eventually([&] { return waiting == waiters; }, longest_wait));
      Locks other = lockset::open(url(address), options).value();
      EXPECT_TRUE(other.release_locks(stamp));
      return;
    }
    options.observer = std::make_shared<Counts>(waiting);
    Locks locks = lockset::open(url(address), options).value();
    Result<Hold> hold = locks.acquire({write("a")}, {.wait = 2 * longest_wait});
    ASSERT_TRUE(hold) << hold.error().message;
    EXPECT_TRUE(hold->release());
    ++served;
  });
  EXPECT_EQ(served, waiters);
}

LOCKSET_MYSQL_SERVERS(Crowd);

}  // namespace
}  // namespace lockset::mysql_tests
