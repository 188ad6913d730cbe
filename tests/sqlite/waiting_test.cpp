// SEM 13: which waiters are woken, and which are in line, by the tables: the transaction that
// decides on a wake-up also records it there.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "lockset/registry.h"
#include "tests/sqlite/database.h"
#include "tests/sqlite/folder.h"
#include "tests/support/client.h"
#include "tests/support/wait.h"

namespace lockset::test {
namespace {

using namespace std::chrono_literals;
using Apps = std::vector<std::string>;

class SqliteWaiting : public testing::Test {
 protected:
  Client client(const std::string& app) { return Client(backend_, app); }
  // The ticket of a busy answer.
  static std::shared_ptr<WaitTicket> queue_up(Client& client, const Wanted& wanted) {
    return client.meet_busy(wanted, {.will_wait = true}).ticket;
  }
  // As a woken waiter does.
  static void come_in_vain(Client& client, const Wanted& wanted,
                           const std::shared_ptr<WaitTicket>& ticket) {
    client.meet_busy(wanted, {.will_wait = true, .ticket = ticket});
  }

  Apps waiting() { return database_.texts("SELECT app FROM waiters ORDER BY id"); }
  Apps woken() {
    return database_.texts("SELECT app FROM waiters WHERE woken_boot_us IS NOT NULL ORDER BY id");
  }
  void expire_holds_of(const std::string& app) {
    ASSERT_GE(database_.run("UPDATE holds SET expires_boot_us = 1 WHERE app = '" + app + "'"), 1);
  }

  Folder folder_;
  const std::shared_ptr<Backend> backend_ = open_backend(folder_.url("locks.db"), soon()).value();
  Database database_{folder_.file("locks.db")};
  Client holder_ = client("holder");
};

TEST_F(SqliteWaiting, AReleaseWakesTheFirst) {
  Client first = client("first");
  Client second = client("second");
  const Stamp stamp = holder_.take({write("a")}).stamp;
  queue_up(first, {write("a")});
  queue_up(second, {write("a")});
  EXPECT_EQ(woken(), Apps{});
  EXPECT_TRUE(holder_.release(stamp));
  EXPECT_EQ(woken(), Apps{"first"});
}

// The grant takes the waiter out of its line, and wakes the next one that there is room for.
TEST_F(SqliteWaiting, AReaderWakesTheNext) {
  holder_.set_permits("a", Mode::read, 2);
  Client first = client("first");
  Client second = client("second");
  const Stamp stamp = holder_.take({write("a")}).stamp;
  const auto ticket = queue_up(first, {read("a")});
  queue_up(second, {read("a")});
  EXPECT_TRUE(holder_.release(stamp));
  ASSERT_EQ(woken(), Apps{"first"});
  first.take({read("a")}, {.will_wait = true, .ticket = ticket});
  EXPECT_EQ(waiting(), Apps{"second"});
  EXPECT_EQ(woken(), Apps{"second"});
}

// It waits for two names, and one of them is not free: another waiter may use its wake-up.
TEST_F(SqliteWaiting, WhoIsNotAdmittedPassesAFreeNameOn) {
  Client both = client("both");
  Client one = client("one");
  const Stamp stamp = holder_.take({write("a")}).stamp;
  holder_.take({write("b")});
  const auto ticket = queue_up(both, {write("a"), write("b")});
  queue_up(one, {write("a")});
  EXPECT_TRUE(holder_.release(stamp));
  ASSERT_EQ(woken(), Apps{"both"});
  come_in_vain(both, {write("a"), write("b")}, ticket);
  EXPECT_EQ(woken(), Apps{"one"});
}

// A reader came in between: it keeps writers out, but not readers.
TEST_F(SqliteWaiting, AWriterThatIsNotAdmittedWakesTheReaderBehindIt) {
  holder_.set_permits("a", Mode::read, 2);
  Client writer = client("writer");
  Client reader = client("reader");
  const Stamp stamp = holder_.take({write("a")}).stamp;
  const auto ticket = queue_up(writer, {write("a")});
  queue_up(reader, {read("a")});
  EXPECT_TRUE(holder_.release(stamp));
  client("newcomer").take({read("a")});
  ASSERT_EQ(woken(), Apps{"writer"});
  come_in_vain(writer, {write("a")}, ticket);
  EXPECT_EQ(woken(), Apps{"reader"});
}

TEST_F(SqliteWaiting, WhoGivesUpPassesTheWakeUpOn) {
  Client first = client("first");
  Client second = client("second");
  const Stamp stamp = holder_.take({write("a")}).stamp;
  const auto ticket = queue_up(first, {write("a")});
  queue_up(second, {write("a")});
  EXPECT_TRUE(holder_.release(stamp));
  ASSERT_EQ(woken(), Apps{"first"});
  backend_->end_wait(*ticket, soon());
  EXPECT_EQ(woken(), Apps{"second"});
  EXPECT_EQ(database_.number("SELECT count(*) FROM waiter_names"), 1) << "of the second";
}

// It was killed or stopped: it was woken a while ago and did not come.
TEST_F(SqliteWaiting, OneThatDoesNotComeIsPassedOver) {
  Client dead = client("dead");
  Client second = client("second");
  const Stamp stamp = holder_.take({write("a")}).stamp;
  queue_up(dead, {write("a")});
  queue_up(second, {write("a")});
  EXPECT_TRUE(holder_.release(stamp));
  ASSERT_EQ(woken(), Apps{"dead"});
  const Stamp again = holder_.take({write("a")}).stamp;
  ASSERT_EQ(database_.run("UPDATE waiters SET woken_boot_us = woken_boot_us - 1000000 "
                          "WHERE woken_boot_us IS NOT NULL"),
            1);
  EXPECT_TRUE(holder_.release(again));
  EXPECT_EQ(woken(), (Apps{"dead", "second"}));
}

TEST_F(SqliteWaiting, AnExpiredWaiterIsPassedOver) {
  Client gone = client("gone");
  Client second = client("second");
  const Stamp stamp = holder_.take({write("a")}).stamp;
  queue_up(gone, {write("a")});
  queue_up(second, {write("a")});
  ASSERT_EQ(database_.run("UPDATE waiters SET expires_boot_us = 1 WHERE app = 'gone'"), 1);
  EXPECT_TRUE(holder_.release(stamp));
  EXPECT_EQ(woken(), Apps{"second"});
}

// Otherwise its row would be passed over 15 s after it came.
TEST_F(SqliteWaiting, OneThatComesAgainStaysInLine) {
  Client waiter = client("waiter");
  holder_.take({write("a")});
  const auto ticket = queue_up(waiter, {write("a")});
  const std::string expires = "SELECT expires_boot_us FROM waiters";
  const std::int64_t first = database_.number(expires);
  ASSERT_EQ(database_.run("UPDATE waiters SET expires_boot_us = expires_boot_us - 10000000"), 1);
  come_in_vain(waiter, {write("a")}, ticket);
  EXPECT_GE(database_.number(expires), first);
  EXPECT_EQ(waiting(), Apps{"waiter"}) << "in the same place";
}

// An expired set is removed when one of its names is asked for: the other names get free, too.
TEST_F(SqliteWaiting, AGrantThatRemovesAnExpiredSetWakesForItsOtherNames) {
  Client waiter = client("waiter");
  holder_.take({write("a"), write("b")});
  queue_up(waiter, {write("b")});
  expire_holds_of("holder");
  client("newcomer").take({write("a")});
  EXPECT_EQ(woken(), Apps{"waiter"});
}

TEST_F(SqliteWaiting, SoDoesABusyAnswer) {
  Client waiter = client("waiter");
  holder_.take({write("a"), write("b")});
  client("other").take({write("c")});
  queue_up(waiter, {write("b")});
  expire_holds_of("holder");
  client("newcomer").meet_busy({write("a"), write("c")});
  EXPECT_EQ(woken(), Apps{"waiter"});
}

// If several holds are in the way, any of them may be the one that lets it in.
TEST_F(SqliteWaiting, LooksAgainAtTheFirstEnd) {
  holder_.set_permits("a", Mode::read, 3);
  holder_.take({read("a")}, {.lease = 10min});
  holder_.take({read("a")}, {.lease = 1min});
  holder_.take({read("a")}, {.lease = 5min});
  const Busy busy = client("waiter").meet_busy({write("a")});
  ASSERT_TRUE(busy.retry_after);
  EXPECT_LE(*busy.retry_after, 1min);
}

// The same over several names.
TEST_F(SqliteWaiting, LooksAgainAtTheFirstEndOfAnyName) {
  holder_.take({write("a")}, {.lease = 10min});
  holder_.take({write("b")}, {.lease = 1min});
  holder_.take({write("c")}, {.lease = 5min});
  const Busy busy = client("waiter").meet_busy({write("a"), write("b"), write("c")});
  ASSERT_TRUE(busy.retry_after);
  EXPECT_LE(*busy.retry_after, 1min);
}

}  // namespace
}  // namespace lockset::test
