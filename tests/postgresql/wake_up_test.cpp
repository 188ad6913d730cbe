// SEM 13: which waiters a release notifies, as a session without the backend sees it, and that the
// line of waiters is empty at the end.
#include <atomic>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/postgresql/pqxx_versions.h"
#include "tests/postgresql/fixture.h"

namespace lockset::postgresql_tests {
namespace {

// Receives what is sent to a channel.
class Ear {
 public:
  explicit Ear(const std::string& channel)
      : connection_(server().admin_url()),
        receiver_(connection_, channel,
                  [this](std::string_view payload) { heard_.emplace_back(payload); }) {}
  // Everything that was sent before now.
  std::vector<std::string> heard(Session& session) {
    session.run("NOTIFY " + receiver_.channel() + ", 'the end'");
    EXPECT_TRUE(eventually([&] {
      connection_.get_notifs();
      return !heard_.empty() && heard_.back() == "the end";
    }));
    if (!heard_.empty()) heard_.pop_back();
    return std::exchange(heard_, {});
  }

 private:
  pqxx::connection connection_;
  std::vector<std::string> heard_;
  postgresql::Receiver receiver_;
};

class WakeUp : public PostgresqlTest {
 protected:
  [[nodiscard]] std::string channel() const { return space() + "_raw"; }
  // A waiter that does not react when it is woken.
  void wait_for(const std::string& name, const std::string& ticket) {
    std::string sql = acquire_sql(name);
    sql.replace(sql.find("'', '')"), 7, "'" + channel() + "', '" + ticket + "')");
    Session session;
    session.run(begin_sql());
    ASSERT_EQ(session.text(sql).front(), 'B');
    session.run("COMMIT");
  }
};

using Heard = std::vector<std::string>;

TEST_P(WakeUp, GoesToTheNextInLineOnly) {
  Client c = client();
  const Stamp a = c.take({write("a")}).stamp;
  const Stamp b = c.take({write("b")}).stamp;
  Ear ear(channel());
  for (const char* const ticket : {"first", "second", "third"}) wait_for("a", ticket);
  wait_for("b", "other");
  EXPECT_EQ(ear.heard(admin()), Heard());
  ASSERT_TRUE(c.release(a));
  EXPECT_EQ(ear.heard(admin()), Heard({"first"}));
  ASSERT_TRUE(c.release(b));
  EXPECT_EQ(ear.heard(admin()), Heard({"other"}));
}

// The release of a name notifies no waiters of other names
TEST_P(WakeUp, IsForTheNameThatWasReleased) {
  Client c = client();
  c.take({write("a")});
  const Stamp beside = c.take({write("beside")}).stamp;
  Ear ear(channel());
  wait_for("a", "first");
  ASSERT_TRUE(c.release(beside));
  EXPECT_EQ(ear.heard(admin()), Heard());
}

// The end of a lease wakes as a release does, once somebody removes the hold
TEST_P(WakeUp, ComesWithTheSweep) {
  Client c = client();
  c.take({write("a")});
  Ear ear(channel());
  wait_for("a", "first");
  admin().run("UPDATE " + space() + ".locks SET expires = now() - interval '1 s'");
  ASSERT_TRUE(c.backend().sweep(soon()));
  EXPECT_EQ(ear.heard(admin()), Heard({"first"}));
}

// NOTIFY makes commits queue, so there is none without a waiter. Here the notifying function is
// missing, so calling it fails.
TEST_P(WakeUp, IsNotSentWhereNobodyWaits) {
  Client c = client();
  const Stamp busy = c.take({write("b")}).stamp;
  admin().run("ALTER FUNCTION " + space() + ".wake_v2 RENAME TO wake_v0");
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(c.release(c.take({write("a")}).stamp));
    EXPECT_TRUE(c.release(c.take({write("a"), read("c")}).stamp));
    EXPECT_TRUE(c.renew(busy, 2min));
    c.meet_busy({write("b")});
  }
  wait_for("b", "first");
  EXPECT_FALSE(c.backend().release(busy, "app", soon())) << "it tells nobody";
  admin().run("ALTER FUNCTION " + space() + ".wake_v0 RENAME TO wake_v2");
  EXPECT_TRUE(c.release(busy));
}

// Waiters that were granted, and waiters that gave up, leave the line
TEST_P(WakeUp, LeavesNobodyInTheLine) {
  std::atomic<int> given_up = 0;
  std::atomic<int> granted = 0;
  {
    std::vector<Locks> managers;
    for (int i = 0; i < 3; ++i) {
      Options options;
      options.app = "app" + std::to_string(i);
      managers.push_back(lockset::open(url(), options).value());
    }
    test::run_threads(9, [&](std::size_t i) {
      for (int n = 0; n < 12; ++n) {
        AcquireOptions how;
        how.wait = (n + i) % 3 == 0 ? Duration(3ms) : Duration(30s);
        Result<Hold> hold =
            managers[i % 3].acquire({write("a"), write("b" + std::to_string(n % 2))}, how);
        if (!hold) {
          EXPECT_EQ(hold.error().code, Errc::timeout) << hold.error().message;
          ++given_up;
          continue;
        }
        ++granted;
        EXPECT_TRUE(hold->release());
      }
    });
    EXPECT_TRUE(eventually([&] { return count("waiters") + count("waiter_names") == 0; }))
        << count("waiters") << " waiters, " << count("waiter_names") << " names";
  }
  EXPECT_GE(granted, 9 * 8);
  std::printf("%d granted, %d gave up\n", granted.load(), given_up.load());
  EXPECT_EQ(count("locks"), 0);
}

LOCKSET_POSTGRESQL_SUITE(WakeUp);

}  // namespace
}  // namespace lockset::postgresql_tests
