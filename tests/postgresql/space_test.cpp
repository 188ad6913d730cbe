// The space itself: rights, stamps after a disaster, housekeeping.
#include <mutex>
#include <set>

#include "tests/postgresql/fixture.h"

namespace lockset::postgresql_tests {
namespace {

class SpaceTest : public PostgresqlTest {};

// Everything that a program does, and then an operator, as users with exactly these roles
TEST_P(SpaceTest, UsersNeedTheirRolesAlone) {
  const Address address = runtime_user();
  const std::shared_ptr<Backend> backend = open_backend(address.url(), soon()).value();
  Client c(backend);
  const Token token = Token::random();
  const Grant grant = c.take({write("a"), read("b")}, {.token = token});
  EXPECT_TRUE(c.renew(grant.stamp, 2min));
  EXPECT_TRUE(c.resolve(token));
  Client other(backend, "other");
  const Busy busy = other.meet_busy({write("a")}, {.will_wait = true});
  EXPECT_EQ(c.inspect().waiters.size(), 1U);
  EXPECT_TRUE(c.release(grant.stamp));
  EXPECT_TRUE(backend->await_change(*busy.ticket, soon(), {}));
  backend->end_wait(*busy.ticket, soon());
  const std::int64_t epoch = c.take({write("@app:app")}).stamp.value;
  EXPECT_TRUE(backend->reclaim("app", epoch, soon()));
  EXPECT_TRUE(backend->sweep(soon()));
  for (const Finding& each : examine_space(address.url(), soon()).value()) {
    EXPECT_NE(each.level, Finding::Level::unsafe) << each.subject << ": " << each.text;
    EXPECT_EQ(each.text.find("could not be read"), std::string::npos) << each.text;
  }
  // There is nothing to do, so it may even run init.
  EXPECT_TRUE(init_space(address.url(), soon()));

  ASSERT_TRUE(allow(url(), Role::operators, address.user, soon()));
  c.set_permits("a", Mode::write, 2);
  c.change(RaiseStampBase{grant.stamp});
  c.change(SetMigrationPhase{0, c.config().version});
  EXPECT_TRUE(c.break_hold(c.take({write("a")}).stamp));

  Session session(address.url().substr(0, address.url().find('?')));
  for (const char* table : {"locks", "meta", "lock_permits", "epochs", "waiters", "stamps"}) {
    EXPECT_THROW(session.run("SELECT * FROM " + space() + "." + table),
                 pqxx::insufficient_privilege)
        << table;
    EXPECT_THROW(session.run("DELETE FROM " + space() + "." + table), pqxx::failure) << table;
  }
  // Nor can it replace one of our functions by its own.
  session.run("SET search_path = pg_temp, public");
  session.run("CREATE TEMP TABLE locks (name text)");
  EXPECT_TRUE(Client(backend).take({write("z")}).stamp);
}

// --- stamps ---

// SEM 8: a restored backup has the sequence of that time
TEST_P(SpaceTest, StampsGoOnAboveARestoredBackup) {
  Client c = client();
  const Stamp before = c.take({write("a")}).stamp;
  admin().run("SELECT setval('" + space() + ".stamps', " +
              std::to_string(before.value - 3'600'000'000) + ")");
  ASSERT_TRUE(c.release(before));
  EXPECT_GT(c.take({write("a")}).stamp, before);
}

// SEM 8: many clients find it behind at the same time
TEST_P(SpaceTest, StampsStayUniqueWhileManyRaiseThem) {
  std::mutex mutex;
  std::set<Stamp> all;
  for (int round = 0; round < 5; ++round) {
    admin().run("SELECT setval('" + space() + ".stamps', 1)");
    Stamp highest;
    if (!all.empty()) highest = *all.rbegin();
    test::run_threads(8, [&](std::size_t i) {
      Client mine = client("app" + std::to_string(i));
      Stamp last = highest;
      for (int n = 0; n < 10; ++n) {
        const Stamp stamp = mine.take({write("n" + std::to_string(i))}).stamp;
        EXPECT_GT(stamp, last);
        last = stamp;
        EXPECT_TRUE(mine.release(stamp));
        const std::lock_guard lock(mutex);
        EXPECT_TRUE(all.insert(stamp).second) << "granted twice: " << stamp.value;
      }
    });
  }
}

// SEM 8: minima from several clients at once, each one a jump
TEST_P(SpaceTest, StampsStayUniqueWhileManyAskForMinima) {
  std::mutex mutex;
  std::set<Stamp> all;
  test::run_threads(8, [&](std::size_t i) {
    Client mine = client("app" + std::to_string(i));
    Stamp last;
    for (int n = 0; n < 20; ++n) {
      const Stamp least{last.value + 1 + static_cast<std::int64_t>(i) * 700'000};
      const Stamp stamp = mine.take({write("n" + std::to_string(i))}, {.min_stamp = least}).stamp;
      EXPECT_GE(stamp, least);
      EXPECT_GT(stamp, last);
      last = stamp;
      EXPECT_TRUE(mine.release(stamp));
      const std::lock_guard lock(mutex);
      EXPECT_TRUE(all.insert(stamp).second) << "granted twice: " << stamp.value;
    }
  });
}

// SEM 8: a space that was dropped and made again under a running program
TEST_P(SpaceTest, AWipedSpaceGoesOnAbove) {
  Client c = client();
  const Stamp before = c.take({write("a")}).stamp;
  admin().run("SET client_min_messages = warning");
  admin().run("DROP SCHEMA " + space() + " CASCADE");
  const Result<AcquireOutcome> gone = c.ask_once({write("b")});
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, Errc::misconfigured) << gone.error().message;
  ASSERT_TRUE(init_space(url(), soon()));
  // The earlier configuration is not the present one, although nobody changed anything.
  const Result<AcquireOutcome> stale = c.ask_once({write("b")});
  ASSERT_TRUE(stale) << stale.error().message;
  EXPECT_TRUE(std::holds_alternative<Stale>(*stale));
  EXPECT_GT(c.take({write("a")}).stamp, before);
}

// --- housekeeping ---

// SEM 10: holds of names that nobody asks for any more are swept
TEST_P(SpaceTest, ManyExpiredHoldsAreSwept) {
  Client c = client();
  admin().run("INSERT INTO " + space() +
              ".locks (stamp, expires, created, epoch, token, size, mode, name, app, instance, "
              "label) SELECT i, now() - interval '1 s', now(), 0, gen_random_uuid(), 1, 'w', "
              "'n' || i, 'dead', 'dead', 'dead' FROM generate_series(1, 1200) i");
  std::size_t removed = 0;
  for (int calls = 0; calls < 10; ++calls) removed += c.backend().sweep(soon()).value();
  EXPECT_EQ(removed, 1200U);
  EXPECT_EQ(admin().number("SELECT count(*) FROM " + space() + ".locks"), 0);
}

// SEM 19: the rows of names that nobody used for an hour are removed; those in use stay
TEST_P(SpaceTest, UnusedNamesAreSwept) {
  if (strategy() != "serializable") {
    EXPECT_EQ(admin().text("SELECT to_regclass('" + space() + ".names')"), "") << "it has none";
    return;
  }
  Client c = client();
  const Stamp held = c.take({write("held")}).stamp;
  ASSERT_TRUE(c.release(c.take({write("unused")}).stamp));
  ASSERT_TRUE(c.release(c.take({write("fresh")}).stamp));
  const auto names = [&] {
    return admin().text("SELECT string_agg(name, ' ' ORDER BY name) FROM " + space() + ".names");
  };
  EXPECT_EQ(c.backend().sweep(soon()).value(), 0U);
  EXPECT_EQ(names(), "fresh held unused");
  // More than an hour ago.
  admin().run("UPDATE " + space() +
              ".names SET last = sign(last) * (abs(last) - 4000000000) "
              "WHERE name <> 'fresh'");
  EXPECT_EQ(c.backend().sweep(soon()).value(), 0U);
  EXPECT_EQ(names(), "fresh held");
  c.meet_busy({write("held")});
  ASSERT_TRUE(c.release(held));
  EXPECT_TRUE(c.take({write("unused")}).stamp);
}

// SEM 19: a step that began before a name's row was removed and made again grants nothing from then
TEST_P(SpaceTest, ARowThatCameBackIsNotTheOldOne) {
  if (strategy() != "serializable") return;
  Client c = client();
  ASSERT_TRUE(c.release(c.take({write("a")}).stamp));
  Session slow;
  slow.run("BEGIN ISOLATION LEVEL SERIALIZABLE");
  slow.run("SELECT 1 FROM pg_class LIMIT 1");  // its snapshot is fixed now
  admin().run("DELETE FROM " + space() + ".names");
  const Stamp stamp = c.take({write("a")}).stamp;
  EXPECT_THROW(slow.run(acquire_sql("a")), pqxx::serialization_failure);
  EXPECT_TRUE(c.is_live(stamp));
}

// Sets with more names than there are locks
TEST_P(SpaceTest, LargeSetsExcludeSmallOnes) {
  Client c = client();
  test::Wanted many;
  for (int i = 0; i < 256; ++i) many.push_back(write("n" + std::to_string(i)));
  const Grant grant = c.take(many);
  c.meet_busy({write("n77")});
  EXPECT_TRUE(c.take({write("beside")}).stamp);
  EXPECT_TRUE(c.release(grant.stamp));
  const Stamp one = c.take({write("n200")}).stamp;
  EXPECT_EQ(c.meet_busy(many).name, "n200");
  EXPECT_TRUE(c.release(one));
  test::run_threads(6, [&](std::size_t i) {
    Client mine = client("app" + std::to_string(i));
    for (int n = 0; n < 5; ++n) {
      if (const auto got = mine.try_take(many)) {
        EXPECT_TRUE(mine.release(got->stamp));
      }
    }
  });
}

LOCKSET_POSTGRESQL_SUITE(SpaceTest);

}  // namespace
}  // namespace lockset::postgresql_tests
