// SEM 14, 20: synchronous_standby_names names a missing standby, and somebody cancels the wait for
// it. Then the commit is only on this server: a failover would forget it, so it is no success.
#include <atomic>
#include <functional>
#include <thread>

#include "tests/postgresql/fixture.h"

namespace lockset::postgresql_tests {
namespace {

constexpr const char* write_something = "SELECT pg_logical_emit_message(true, 'test', '')";

class Standby : public PostgresqlTest {
 protected:
  void SetUp() override {
    PostgresqlTest::SetUp();
    // The test's own statements wait for nobody.
    admin().run("SET synchronous_commit = local");
    backend_ = open();
    if (strategy() == "serializable") {
      // Rows of names are no grants, but a new row is waited for as well.
      admin().run("SELECT " + space() + ".know_v2(ARRAY['a', 'other', '@app:app'])");
    }
    set_names("nobody");
    // In force once a commit waits.
    const bool waits = eventually([&] {
      Session probe;
      return broken_off("pg_cancel_backend", [&] { probe.run(write_something); }) > 0;
    });
    ASSERT_TRUE(waits) << "commits don't wait for the standby";
  }
  void TearDown() override {
    set_names("");
    PostgresqlTest::TearDown();
  }

  // Cancels the wait of each commit while `call` runs; returns how often.
  int broken_off(const std::string& how, const std::function<void()>& call) {
    std::atomic<bool> over = false;
    std::thread caller([&] {
      const AtEnd end([&] { over = true; });
      call();
    });
    int times = 0;
    while (!over) {
      times += static_cast<int>(admin().number(
          "SELECT count(" + how + "(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"));
    }
    caller.join();
    return times;
  }
  void set_names(const std::string& names) {
    admin().run("ALTER SYSTEM SET synchronous_standby_names = '" + names + "'");
    admin().run("SELECT pg_reload_conf()");
    EXPECT_TRUE(
        eventually([&] { return Session().text("SHOW synchronous_standby_names") == names; }));
  }
  // Nobody waits for the standby any more; waiting commits continue.
  void the_standby_is_back() { set_names(""); }
  [[nodiscard]] std::shared_ptr<Backend> backend() const { return backend_; }
  // Makes a hold that everybody agrees on.
  Stamp held(const std::string& name) {
    the_standby_is_back();
    const Stamp stamp = Client(backend_).take({write(name)}).stamp;
    set_names("nobody");
    EXPECT_TRUE(eventually([&] {
      Session probe;
      return broken_off("pg_cancel_backend", [&] { probe.run(write_something); }) > 0;
    }));
    return stamp;
  }

  template <class Answer>
  void expect_doubt(const std::string& what, const std::function<Answer()>& call) {
    std::optional<Answer> answer;
    EXPECT_GE(broken_off("pg_cancel_backend", [&] { answer = call(); }), 1) << what;
    ASSERT_FALSE(*answer) << what << " counted";
    EXPECT_EQ(answer->error().code, Errc::indeterminate) << what << ": " << answer->error().message;
    EXPECT_TRUE(says(answer->error().message, "standby")) << answer->error().message;
  }

 private:
  std::shared_ptr<Backend> backend_;
};

TEST_P(Standby, ABrokenOffWaitIsNoGrant) {
  Client c(backend());
  const Token token = Token::random();
  expect_doubt<Result<AcquireOutcome>>("an acquire",
                                       [&] { return c.ask_once({write("a")}, {.token = token}); });
  // The hold is here. But looking is not enough, and a cancelled look tells nothing.
  EXPECT_EQ(count("locks"), 1);
  Result<std::optional<Grant>> found(std::optional<Grant>{});
  EXPECT_GE(broken_off("pg_cancel_backend", [&] { found = backend()->resolve(token, soon()); }), 1);
  ASSERT_FALSE(found) << "a hold that the standby need not have";
  EXPECT_EQ(found.error().code, Errc::unavailable) << found.error().message;
  the_standby_is_back();
  EXPECT_TRUE(c.resolve(token));
}

TEST_P(Standby, ABrokenOffWaitIsNoSuccess) {
  const Stamp stamp = held("a");
  Client c(backend());
  expect_doubt<Result<RenewReply>>("a renewal", [&] {
    const RenewRequest request{stamp, 2min};
    return backend()->renew(c.owner(), {&request, 1}, soon());
  });
  expect_doubt<Result<SpaceConfig>>("a change", [&] {
    return backend()->change_config(SetPermits{"a", Mode::read, 3}, soon());
  });
  // Once more, when there is nothing left to do: that is no success either.
  for (int i = 0; i < 2; ++i) {
    expect_doubt<Result<bool>>("a release",
                               [&] { return backend()->release(stamp, "app", soon()); });
    expect_doubt<Result<bool>>("a break", [&] { return backend()->break_hold(stamp, soon()); });
  }
  const Stamp app = held("@app:app");
  for (int i = 0; i < 2; ++i) {
    expect_doubt<Result<std::size_t>>("a reclaim",
                                      [&] { return backend()->reclaim("app", app.value, soon()); });
  }
}

// SEM 27: a server that was replaced and does not know it can still be read. Others write to the
// new one, so what it says of a trace is not enough.
TEST_P(Standby, ALookIsNoObservation) {
  Client c(backend());
  the_standby_is_back();
  const Trace before = c.observe_one("a");
  set_names("nobody");
  const std::vector<std::string> names{"a"};
  // In force once it waits.
  EXPECT_TRUE(eventually([&] {
    std::optional<Result<ObserveOutcome>> seen;
    const int times = broken_off("pg_cancel_backend", [&] {
      seen = backend()->observe({names, c.config().version, soon()});
    });
    if (times == 0) return false;
    EXPECT_EQ(seen->ok() ? Errc::internal : seen->error().code, Errc::unavailable);
    return true;
  }));
  the_standby_is_back();
  EXPECT_EQ(c.observe_one("a").last_write, before.last_write);
}

// If the server ends the session, there is no answer at all.
TEST_P(Standby, ATerminatedSessionIsNoGrant) {
  Client c(backend());
  std::optional<Result<AcquireOutcome>> outcome;
  EXPECT_GE(broken_off("pg_terminate_backend", [&] { outcome = c.ask_once({write("a")}); }), 1);
  ASSERT_FALSE(*outcome);
  EXPECT_EQ(outcome->error().code, Errc::indeterminate) << outcome->error().message;
}

// A program that asks until it knows gets the grant once the standby has it, and not before.
TEST_P(Standby, AProgramIsGrantedWhatTheStandbyHas) {
  Locks locks = lockset::open(url()).value();
  std::atomic<bool> granted = false;
  std::thread program([&] {
    const Result<Hold> hold = locks.acquire({write("a")}, {.wait = 1min});
    EXPECT_TRUE(hold) << hold.error().message;
    granted = true;
  });
  int cancelled = 0;
  EXPECT_TRUE(eventually([&] {
    cancelled += static_cast<int>(
        admin().number("SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity "
                       "WHERE wait_event = 'SyncRep' AND application_name = 'lockset'"));
    return cancelled >= 2;
  }));
  EXPECT_FALSE(granted);
  the_standby_is_back();
  program.join();
}

// Warnings of another kind mean nothing here.
TEST_P(Standby, AnotherWarningIsNoDoubt) {
  the_standby_is_back();
  admin().run("CREATE FUNCTION " + space() +
              ".warn() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'beware'; "
              "RETURN NULL; END $$");
  admin().run("CREATE TRIGGER warn AFTER INSERT ON " + space() +
              ".locks FOR EACH ROW EXECUTE FUNCTION " + space() + ".warn()");
  EXPECT_TRUE(Client(backend()).take({write("a")}).stamp);
}

// A user who wants only errors still gets this one.
TEST_P(Standby, IsHeardWhateverTheUserWantsToHear) {
  the_standby_is_back();
  const Address address = runtime_user();
  admin().run("ALTER ROLE " + address.user + " SET client_min_messages = error");
  Client c(open_backend(address.url(), soon()).value());
  (void)held("other");
  expect_doubt<Result<AcquireOutcome>>("an acquire", [&] { return c.ask_once({write("a")}); });
}

LOCKSET_POSTGRESQL_SUITE(Standby);

}  // namespace
}  // namespace lockset::postgresql_tests
