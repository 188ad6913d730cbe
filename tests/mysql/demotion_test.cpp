// SEM 20: a server that was demoted (read_only) while clients are connected. The procedures run
// with the rights of the account that made the space, which the server itself may not stop.
#include <thread>

#include "tests/mysql/fixture.h"
#include "tests/support/event_counts.h"

namespace lockset::mysql_tests {
namespace {

class Demotion : public MysqlTest {
 protected:
  void demote() { set_global("read_only", "1"); }
  void promote() { admin().rows("SET GLOBAL read_only = 0"); }

  // Everything that a client may have changed, as one text.
  std::string state() {
    std::string all;
    for (const char* const rest : {"_locks", "_names", "_space", "_lock_permits", "_epochs",
                                   "_waiters", "_waiter_names", "_traces"}) {
      for (const auto& row : admin().rows("SELECT * FROM " + table(rest) + " ORDER BY 1, 2")) {
        for (const auto& value : row) all += value.value_or("NULL") + ",";
      }
      all += "\n";
    }
    return all;
  }

  template <class T>
  static void refused_as_demoted(const Result<T>& result, const char* what) {
    ASSERT_FALSE(result) << what;
    EXPECT_TRUE(says(checked(result.error(), Errc::unavailable), "read-only"))
        << what << ": " << result.error().message;
  }
};

TEST_P(Demotion, AServerThatBecameAReplicaGrantsAndChangesNothing) {
  const std::shared_ptr<Backend> backend = open_backend(url(runtime_user()), soon()).value();
  Client mine(backend);
  const Stamp one = mine.take({write("a")}).stamp;
  const Stamp set = mine.take({write("b"), read("c")}).stamp;
  const std::int64_t epoch = mine.take({write("@app:app")}).stamp.value;
  demote();
  const std::string before = state();
  refused_as_demoted(mine.ask_once({write("d")}), "a name that is new");
  refused_as_demoted(mine.ask_once({write("d"), write("e")}), "a set");
  refused_as_demoted(mine.ask_once({write("a")}), "a name that is held");
  refused_as_demoted(mine.ask_once({read("b"), read("c")}, {.replaces = set}), "a downgrade");
  const RenewRequest request{one, 5min};
  refused_as_demoted(backend->renew(mine.owner(), {&request, 1}, soon()), "a renewal");
  refused_as_demoted(backend->release(one, "app", soon()), "the release of one name");
  refused_as_demoted(backend->release(set, "app", soon()), "the release of a set");
  refused_as_demoted(backend->break_hold(set, soon()), "a break");
  refused_as_demoted(backend->change_config(SetPermits{"a", Mode::read, 3}, soon()), "a change");
  refused_as_demoted(backend->reclaim("app", epoch, soon()), "a reclaim");
  refused_as_demoted(backend->sweep(soon()), "housekeeping");
  EXPECT_EQ(state(), before);
  promote();
  // The same client continues.
  EXPECT_TRUE(mine.renew(one, 5min));
  EXPECT_TRUE(mine.release(one));
  EXPECT_TRUE(mine.release(set));
}

// Connections that are opened afterwards are refused too, even for reading: a replica may lag.
TEST_P(Demotion, ANewConnectionOfARunningClientIsRefused) {
  const Address address = runtime_user();
  const std::shared_ptr<Backend> backend = open_backend(url(address), soon()).value();
  Client mine(backend);
  const Stamp stamp = mine.take({write("a")}).stamp;
  demote();
  kill_sessions_of(address.user);
  refused_as_demoted(backend->load_config(soon()), "the configuration");
  refused_as_demoted(backend->inspect({}, soon()), "an inspection");
  const RenewRequest request{stamp, 5min};
  refused_as_demoted(backend->renew(mine.owner(), {&request, 1}, soon()), "a renewal");
  promote();
  EXPECT_TRUE(mine.release(stamp));
}

// It is demoted between the look and the commit. The failover may have read the end of the log
// before that commit, so that the hold is missing on the next primary.
TEST_P(Demotion, AGrantThatCommitsBehindItIsNotReported) {
  Client mine = client();
  ASSERT_TRUE(mine.release(mine.take({write("a"), write("b")}).stamp));
  const auto rude = session();
  rude->rows("START TRANSACTION");
  rude->rows("SELECT config_version FROM " + table("_space") + " FOR UPDATE");
  const Token token = Token::random();
  std::optional<Result<AcquireOutcome>> outcome;
  std::thread thread([&] {
    outcome.emplace(mine.ask_once({write("a"), write("b")}, {.token = token}));
  });
  EXPECT_TRUE(rows_are_waited_for());
  demote();
  rude->rows("ROLLBACK");
  thread.join();
  ASSERT_FALSE(*outcome) << test::describe(*outcome);
  checked(outcome->error(), Errc::indeterminate);
  promote();
  // Its token finds it, as after any lost reply.
  EXPECT_TRUE(mine.resolve(token));
}

// The same with a conversion, and with the same request once more.
TEST_P(Demotion, AConversionThatCommitsBehindItIsNotReported) {
  Client mine = client();
  const Stamp old = mine.take({read("a"), read("b")}).stamp;
  const test::Ask ask{.token = Token::random(), .replaces = old};
  for (const bool again : {false, true}) {
    SCOPED_TRACE(again);
    const auto rude = session();
    rude->rows("START TRANSACTION");
    rude->rows("SELECT config_version FROM " + table("_space") + " FOR UPDATE");
    std::optional<Result<AcquireOutcome>> outcome;
    std::thread thread([&] { outcome.emplace(mine.ask_once({write("a"), write("b")}, ask)); });
    EXPECT_TRUE(rows_are_waited_for());
    demote();
    rude->rows("ROLLBACK");
    thread.join();
    ASSERT_FALSE(*outcome) << test::describe(*outcome);
    checked(outcome->error(), Errc::indeterminate);
    promote();
  }
  EXPECT_TRUE(mine.resolve(*ask.token));
  EXPECT_EQ(mine.holds().size(), 1U);
}

// A failover is under way. A waiter waits until the address leads to a writable server.
TEST_P(Demotion, AWaiterOutlastsIt) {
  const auto events = std::make_shared<test::EventCounts>();
  Locks locks = lockset::open(url(runtime_user()), {.observer = events}).value();
  demote();
  std::thread program([&] {
    const Result<Hold> hold = locks.acquire({write("a")}, {.wait = 1min});
    EXPECT_TRUE(hold) << hold.error().message;
  });
  EXPECT_TRUE(eventually([&] { return events->retried >= 2; }));
  promote();
  program.join();
}

// Other settings that make transactions read-only, for sessions that begin then.
TEST_P(Demotion, SessionsThatMayOnlyReadAreRefused) {
  const Address address = runtime_user();
  Client mine(open_backend(url(address), soon()).value());
  set_global(is_mariadb() ? "tx_read_only" : "transaction_read_only", "1");
  EXPECT_TRUE(says(refused(url(address), Errc::misconfigured), "read_only"));
  kill_sessions_of(address.user);
  refused_as_demoted(mine.ask_once({write("a")}), "a session that may only read");
  refused_as_demoted(mine.ask_once({write("a"), write("b")}), "the same of a set");
}

LOCKSET_MYSQL_STRATEGIES(Demotion);

}  // namespace
}  // namespace lockset::mysql_tests
