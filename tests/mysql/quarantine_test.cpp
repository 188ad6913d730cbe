// SEM 8, 9, 10, 12, 20, 31: the space's state comes from another server, and its last part is
// missing.
#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/mysql/fixture.h"

namespace lockset::mysql_tests {
namespace {

class Quarantine : public MysqlTest {
 protected:
  // A client whose space has a short quarantine: as long as a test's steps during it may take on a
  // busy machine.
  Client brief(const std::string& app) {
    Client one = client(app);
    one.change(SetMaxLease{5s});
    return one;
  }
  // As if the state had been written on another server, which this one has replaced.
  void move() {
    admin().rows("UPDATE " + table("_home") + " SET home = '', identity = 'elsewhere'");
  }
  // The same, and the other server's last grants did not get here.
  void lose() {
    admin().rows("DELETE FROM " + table("_locks"));
    move();
  }
  static void expect_refused(Client& client, const test::Wanted& wanted,
                             const test::Ask& ask = {}) {
    const Result<AcquireOutcome> outcome = client.ask(wanted, ask);
    ASSERT_FALSE(outcome) << test::describe(outcome);
    EXPECT_EQ(outcome.error().code, Errc::unavailable) << outcome.error().message;
    EXPECT_TRUE(says(outcome.error().message, "no new grants for another"))
        << outcome.error().message;
  }
  static void wait_out(Client& client) {
    EXPECT_TRUE(client.inspect().quarantine);
    EXPECT_TRUE(eventually([&] { return !client.inspect().quarantine; }, 3 * test::patience));
  }
  // The quarantine is over at once.
  void cut_short() { admin().rows("UPDATE " + table("_home") + " SET quarantine_until = 0"); }
  std::string made_at() {
    return admin().value(
        "SELECT UNIX_TIMESTAMP(create_time) FROM information_schema.tables "
        "WHERE table_schema = DATABASE() AND table_name = '" +
        table("_home") + "'");
  }
  std::string meta(const std::string& column) {
    return admin().value("SELECT " + column + " FROM " + table("_home"));
  }
};

// SEM 20: no double grant: nobody gets anything for the longest lease
TEST_P(Quarantine, ALivingHolderStaysTheOnlyOne) {
  Client holder = brief("holder");
  holder.set_permits("b", Mode::read, 2);
  Client other = client("other");
  const Grant grant = holder.take({write("a"), read("b")}, {.lease = 30s});
  lose();
  expect_refused(other, {write("a")});
  ASSERT_TRUE(holder.renew(grant.stamp, 30s)) << "it registers again";
  EXPECT_TRUE(holder.is_live(grant.stamp));
  wait_out(other);
  EXPECT_EQ(other.meet_busy({write("a")}).holder, grant.stamp);
  EXPECT_EQ(other.meet_busy({write("b")}).holder, grant.stamp);
  EXPECT_TRUE(other.try_take({read("b")})) << "beside a reader";
  EXPECT_TRUE(holder.release(grant.stamp));
  // SEM 8: above all earlier stamps.
  EXPECT_GT(other.take({write("a")}).stamp, grant.stamp);
}

// What the quarantine is for: without it the name is granted twice.
TEST_P(Quarantine, WithoutItANameIsGrantedTwice) {
  Client holder = brief("holder");
  Client other = client("other");
  const Grant grant = holder.take({write("a")}, {.lease = 10min});
  lose();
  expect_refused(other, {write("a")});
  cut_short();
  EXPECT_GT(other.take({write("a")}).stamp, grant.stamp)
      << "while the first holder has ten minutes left by its own clock";
}

// It is begun once, by whoever comes first, and not made longer by the others.
TEST_P(Quarantine, AllSeeTheSameOne) {
  Client first = client("first");
  first.change(SetMaxLease{1min});
  std::vector<Client> others;
  for (int i = 0; i < 4; ++i) others.push_back(client("app" + std::to_string(i)));
  for (Client& one : others) ASSERT_TRUE(one.release(one.take({write("warm")}).stamp));
  move();
  {
    std::vector<std::jthread> threads;
    for (Client& one : others) {
      threads.emplace_back([&] {
        expect_refused(one, {write("a")});
        expect_refused(one, {write("b"), write("c")});
      });
    }
  }
  const std::string seen = meta("lost");
  const std::string until = meta("quarantine_until");
  EXPECT_EQ(meta("quarantine_until = lost + 60000000"), "1");
  expect_refused(first, {write("d")});
  EXPECT_EQ(meta("lost"), seen);
  EXPECT_EQ(meta("quarantine_until"), until);
  // Another loss during it: the later end counts.
  move();
  expect_refused(first, {write("d")});
  EXPECT_EQ(meta("lost > " + seen + " AND quarantine_until > " + until), "1");
}

// A renewal may be the first that comes
TEST_P(Quarantine, ARenewalBeginsIt) {
  Client holder = brief("holder");
  const Grant grant = holder.take({write("a")}, {.lease = 30s});
  lose();
  EXPECT_TRUE(holder.renew(grant.stamp, 30s));
  Client other = client("other");
  expect_refused(other, {write("b")});
}

// A hold that nobody registers is gone, and can't be brought back later
TEST_P(Quarantine, WhatIsNotRegisteredInTimeIsGone) {
  Client holder = brief("holder");
  const Grant grant = holder.take({write("a")}, {.lease = 30s});
  lose();
  expect_refused(holder, {write("b")});
  wait_out(holder);
  EXPECT_FALSE(holder.renew(grant.stamp, 30s));
  EXPECT_GT(client("other").take({write("a")}).stamp, grant.stamp);
}

// SEM 20: the answer "forgotten" arrives after the quarantine, so the store has to check
TEST_P(Quarantine, AfterItNothingIsRegistered) {
  Client holder = brief("holder");
  const Grant grant = holder.take({write("a")}, {.lease = 30s});
  lose();
  expect_refused(holder, {write("b")});
  const std::uint32_t permits[] = {1};
  const ReregisterRequest request{
      {holder.known(grant.stamp), 30s}, permits, holder.config().version};
  cut_short();
  // Nobody has called since it ended.
  Result<ReregisterOutcome> outcome = holder.backend().reregister(holder.owner(), request, soon());
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_TRUE(std::holds_alternative<Gone>(*outcome));
  EXPECT_FALSE(holder.is_live(grant.stamp));
}

// SEM 9: a holder may release a hold that the store has forgotten, once; a registration that was
// sent before and arrives late does not bring it back
TEST_P(Quarantine, AReleaseInItSucceedsOnceAndStays) {
  Client holder = brief("holder");
  const Grant lost = holder.take({write("a")}, {.lease = 30s});
  const Grant there = holder.take({write("b"), read("c")}, {.lease = 30s});
  lose();
  ASSERT_TRUE(holder.renew(there.stamp, 30s)) << "registered again";
  for (const Stamp stamp : {lost.stamp, there.stamp}) {
    EXPECT_TRUE(holder.release(stamp));
    EXPECT_FALSE(holder.renew(stamp, 30s));
    EXPECT_FALSE(holder.release(stamp)) << "once";
    EXPECT_FALSE(holder.is_live(stamp));
  }
}

// SEM 17: a hold that a person broke does not come back at its next renewal, whether it was broken
// before the loss or after it
TEST_P(Quarantine, ABreakIsNotUndone) {
  Client holder = brief("holder");
  Client boss = client("boss");
  const Grant before = holder.take({write("a")}, {.lease = 30s});
  const Grant after = holder.take({write("b"), read("c")}, {.lease = 30s});
  EXPECT_TRUE(boss.break_hold(before.stamp));
  move();
  EXPECT_FALSE(holder.renew(before.stamp, 30s));
  ASSERT_TRUE(holder.renew(after.stamp, 30s));
  EXPECT_TRUE(boss.break_hold(after.stamp));
  EXPECT_FALSE(holder.renew(after.stamp, 30s));
  EXPECT_TRUE(boss.holds().empty());
}

// SEM 9: nor does a hold that another process of the application has released
TEST_P(Quarantine, AReleaseByAnotherProcessIsNotUndone) {
  Client holder = brief("app");
  Client other = client("app");
  const Grant before = holder.take({write("a"), read("b")}, {.lease = 30s});
  const Grant after = holder.take({write("c")}, {.lease = 30s});
  EXPECT_TRUE(other.release(before.stamp));
  move();
  EXPECT_FALSE(holder.renew(before.stamp, 30s));
  ASSERT_TRUE(holder.renew(after.stamp, 30s));
  EXPECT_TRUE(other.release(after.stamp));
  EXPECT_FALSE(holder.renew(after.stamp, 30s));
}

// SEM 29: the old hold of a conversion whose answer was lost does not come back
TEST_P(Quarantine, AConvertedHoldIsNotRegistered) {
  Client holder = brief("app");
  const Grant old = holder.take({write("a")}, {.lease = 30s});
  const Grant now = holder.take({read("a")}, {.lease = 30s, .replaces = old.stamp});
  EXPECT_TRUE(holder.release(now.stamp));
  move();
  EXPECT_FALSE(holder.renew(old.stamp, 30s));
  EXPECT_TRUE(holder.holds().empty());
}

// SEM 12: a hold that a newer instance has ended stays ended
TEST_P(Quarantine, AReclaimedHoldIsNotRegistered) {
  Client holder = brief("app");
  const Grant older = holder.take({write("older")}, {.lease = 30s});
  const Grant id = holder.take({write("@app:app")}, {.lease = 30s});
  ASSERT_TRUE(holder.backend().reclaim("app", id.stamp.value, soon()));
  lose();
  // Its own copy of the configuration does not know of it, and the space's does.
  EXPECT_FALSE(holder.renew(older.stamp, 30s));
  // Nor does the space rely on what the client knows.
  holder.reload();
  const std::uint32_t permits[] = {1};
  const Result<ReregisterOutcome> outcome = holder.backend().reregister(
      holder.owner(), {{holder.known(older.stamp), 30s}, permits, holder.config().version}, soon());
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_TRUE(std::holds_alternative<Gone>(*outcome));
  EXPECT_TRUE(holder.renew(id.stamp, 30s)) << "it was granted before its own epoch began";
}

// SEM 20: if two claim a name, the later holder is the right one; the earlier one gave way, and
// does not return when the later one ends
TEST_P(Quarantine, OfTwoRegistrationsTheLaterGrantWins) {
  Client early = brief("early");
  Client late = client("late");
  const Grant first = early.take({write("a")}, {.lease = 30s});
  ASSERT_TRUE(late.break_hold(first.stamp));
  const Grant second = late.take({write("a")}, {.lease = 30s});
  lose();
  admin().rows("DELETE FROM " + table("_ended"));  // that it was broken was lost, too
  ASSERT_TRUE(early.renew(first.stamp, 30s)) << "nobody else has come so far";
  ASSERT_TRUE(late.renew(second.stamp, 30s));
  EXPECT_FALSE(early.renew(first.stamp, 30s));
  EXPECT_TRUE(late.is_live(second.stamp));
  EXPECT_FALSE(late.is_live(first.stamp));
  ASSERT_TRUE(late.release(second.stamp));
  EXPECT_FALSE(early.renew(first.stamp, 30s));
}

// The other way round: the later one came back first
TEST_P(Quarantine, AnEarlierGrantDoesNotDriveOutALaterOne) {
  Client early = brief("early");
  Client late = client("late");
  const Grant first = early.take({read("a"), write("b")}, {.lease = 30s});
  ASSERT_TRUE(late.break_hold(first.stamp));
  const Grant second = late.take({write("a")}, {.lease = 30s});
  lose();
  admin().rows("DELETE FROM " + table("_ended"));
  ASSERT_TRUE(late.renew(second.stamp, 30s));
  EXPECT_FALSE(early.renew(first.stamp, 30s));
  EXPECT_TRUE(late.is_live(second.stamp));
}

// Readers and permits: those that may be there together all come back, and no more
TEST_P(Quarantine, NoMoreThanThePermitsAreRegistered) {
  Client holder = brief("app");
  holder.set_permits("two", Mode::write, 2);
  holder.set_permits("r", Mode::read, 5);
  std::vector<Stamp> stamps;
  for (int i = 0; i < 2; ++i) stamps.push_back(holder.take({write("two"), read("r")}).stamp);
  const Stamp third = stamps.back();
  // A third was granted after one of these had ended, without its holder's knowledge.
  Client other = client("other");
  ASSERT_TRUE(other.break_hold(stamps[0]));
  const Stamp last = other.take({write("two"), read("r")}).stamp;
  lose();
  admin().rows("DELETE FROM " + table("_ended"));
  EXPECT_TRUE(holder.renew(third, 30s));
  EXPECT_TRUE(holder.renew(stamps[0], 30s)) << "nobody else has come so far";
  EXPECT_FALSE(other.renew(last, 30s)) << "both permits are taken, and nobody knows by whom not";
  EXPECT_EQ(holder.holds().size(), 2U);
}

// SEM 10: the end of the lease that got here has passed, and the last renewals are what was lost
TEST_P(Quarantine, ARenewalThatWasLostIsMadeUpFor) {
  Client holder = brief("app");
  const Grant grant = holder.take({write("a"), read("b")}, {.lease = 30s});
  admin().rows("UPDATE " + table("_locks") + " SET expires = " + now_us + " WHERE item = 0");
  move();
  // A client that knows only the stamp can't claim it: for the store the hold has ended.
  Client stranger = client("app");
  EXPECT_FALSE(stranger.renew(grant.stamp, 30s));
  EXPECT_TRUE(holder.renew(grant.stamp, 30s));
  EXPECT_TRUE(holder.is_live(grant.stamp));
  EXPECT_TRUE(stranger.renew(grant.stamp, 30s)) << "now it is there";
}

// SEM 10: a hold whose lease has ended by its holder's clock is not brought back
TEST_P(Quarantine, AnEndedHoldIsNot) {
  Client holder = brief("app");
  const Grant grant = holder.take({write("a")}, {.lease = 100ms});
  EXPECT_TRUE(eventually([&] { return !holder.is_live(grant.stamp); }));
  lose();
  EXPECT_FALSE(holder.renew(grant.stamp, 30s));
  EXPECT_FALSE(holder.is_live(grant.stamp));
}

// A permanent hold comes back as one
TEST_P(Quarantine, APermanentHoldIsRegistered) {
  Client holder = brief("app");
  const Grant grant = holder.take({write("a")}, {.lease = 30s});
  ASSERT_TRUE(holder.make_permanent(grant.stamp));
  lose();
  const RenewRequest request{holder.known(grant.stamp), 30s, true};
  const Result<RenewReply> reply = holder.backend().renew(holder.owner(), {&request, 1}, soon());
  ASSERT_TRUE(reply) << reply.error().message;
  ASSERT_TRUE(reply->may_be_forgotten(0));
  holder.reload();  // the loss is a change of the configuration
  const std::uint32_t permits[] = {1};
  const Result<ReregisterOutcome> outcome = holder.backend().reregister(
      holder.owner(), {request, permits, holder.config().version}, soon());
  ASSERT_TRUE(outcome) << outcome.error().message;
  const auto* renewal = std::get_if<Renewal>(&*outcome);
  ASSERT_NE(renewal, nullptr);
  EXPECT_EQ(renewal->lease, Duration::max());
  EXPECT_FALSE(holder.holds().at(0).remaining) << "for ever";
}

// SEM 10: a hold may be renewed with a longer lease than the longest of now
TEST_P(Quarantine, ItOutlastsALongerLeaseOfBefore) {
  Client holder = client("holder");
  const Grant grant = holder.take({write("a")}, {.lease = 2min});
  holder.change(SetMaxLease{1s});
  ASSERT_EQ(meta("longest > " + now_us + " + 540000000"), "1") << "the longest lease of before";
  // As if that was long ago.
  admin().rows("UPDATE " + table("_home") + " SET longest = 0");
  ASSERT_TRUE(holder.renew(grant.stamp, 2min));
  lose();
  Client other = client("other");
  expect_refused(other, {write("a")});
  EXPECT_EQ(meta("quarantine_until > " + now_us + " + 60000000"), "1");
}

// SEM 8: stamps that ran ahead of the clock
TEST_P(Quarantine, StampsGoOnAboveWhatWasLost) {
  Client holder = brief("holder");
  const std::int64_t ahead = holder.take({write("x")}).stamp.value + 3'600'000'000;
  holder.change(RaiseStampBase{Stamp{ahead}});
  const Stamp known = holder.take({write("b")}).stamp;
  Stamp lost;
  for (int i = 0; i < 50; ++i) {
    lost = holder.take({write("a")}, {.lease = 30s}).stamp;
    ASSERT_TRUE(holder.release(lost));
  }
  lost = holder.take({write("a")}, {.lease = 30s}).stamp;
  // As if very many had been given meanwhile.
  admin().rows("ALTER TABLE " + table("_locks") +
               " AUTO_INCREMENT = " + std::to_string(known.value + 500'000'000));
  const Stamp unheard = client("unheard").take({write("c")}, {.lease = 30s}).stamp;
  lose();
  admin().rows("ALTER TABLE " + table("_locks") +
               " AUTO_INCREMENT = " + std::to_string(known.value));
  expect_refused(holder, {write("c")});
  ASSERT_TRUE(holder.renew(lost, 30s));
  cut_short();
  EXPECT_GT(client("other").take({write("c")}).stamp, unheard);
}

// SEM 27: nothing is observed while lost writers may be there, and nothing of before counts
TEST_P(Quarantine, ALossEndsAllTraces) {
  Client c = brief("app");
  const Trace before = c.observe_one("a");
  move();
  const std::vector<std::string> names{"a", "b"};
  const Result<ObserveOutcome> seen = c.backend().observe({names, c.config().version, soon()});
  ASSERT_FALSE(seen);
  EXPECT_EQ(seen.error().code, Errc::unavailable) << seen.error().message;
  EXPECT_TRUE(says(seen.error().message, "nothing is observed")) << seen.error().message;
  cut_short();
  const Changed changed =
      c.meet_changed({write("a")}, {.unchanged_since = {{0, before.last_write}}});
  EXPECT_GT(changed.trace.last_write, before.last_write);
  const Trace after = c.observe_one("a");
  EXPECT_EQ(after.last_write, changed.trace.last_write);
  c.take({write("a")}, {.unchanged_since = {{0, after.last_write}}});
}

// SEM 29: a hold that is missing need not have ended
TEST_P(Quarantine, NothingIsConverted) {
  Client c = brief("app");
  const Grant grant = c.take({write("a")}, {.lease = 30s});
  lose();
  expect_refused(c, {read("a")}, {.replaces = grant.stamp});
  EXPECT_TRUE(c.renew(grant.stamp, 30s));
  cut_short();
  EXPECT_TRUE(c.try_take({read("a")}, {.replaces = grant.stamp}));
}

// SEM 17: people see that nothing is granted, and for how long
TEST_P(Quarantine, AnInspectionShowsIt) {
  Client c = client();
  c.change(SetMaxLease{10s});
  Locks locks = lockset::open(url()).value();
  EXPECT_FALSE(locks.inspect({}).value().quarantine);
  c.take({write("a")});
  move();
  using Match = InspectQuery::Match;
  for (const InspectQuery& query :
       {InspectQuery{}, InspectQuery{Match::name, "a"}, InspectQuery{Match::prefix, "none"}}) {
    const Inspection seen = locks.inspect(query).value();
    ASSERT_TRUE(seen.quarantine);
    EXPECT_GT(*seen.quarantine, 0s);
    EXPECT_LE(*seen.quarantine, 10s);
    EXPECT_EQ(seen.holds.size(), query.text == "none" ? 0U : 1U);
  }
}

// SEM 10: a program's holds go on by themselves, and its observer is told
TEST_P(Quarantine, AProgramKeepsItsHold) {
  struct Told : Observer {
    void on_event(const Event& event) noexcept override {
      if (event.kind == Event::Kind::renewed && says(std::string(event.detail), "forgotten")) {
        ++times;
      }
    }
    std::atomic<int> times = 0;
  };
  const auto told = std::make_shared<Told>();
  Locks locks = lockset::open(url(), {.lease = 6s, .observer = told}).value();
  const Hold hold = locks.acquire({write("a"), write("b")}).value();
  lose();
  EXPECT_TRUE(eventually([&] { return told->times > 0; }));
  EXPECT_TRUE(hold.valid());
  EXPECT_TRUE(client().is_live(hold.stamp()));
}

// What ended is not noted for longer than somebody may come back with it.
TEST_P(Quarantine, NotesOfEndsAreSwept) {
  Client c = client();
  for (int i = 0; i < 3; ++i) {
    const Grant grant = c.take({write("a")}, {.lease = 200ms});
    EXPECT_TRUE(c.break_hold(grant.stamp));
  }
  const Grant mine = c.take({write("a")});
  EXPECT_TRUE(c.release(mine.stamp));
  EXPECT_EQ(admin().number("SELECT COUNT(*) FROM " + table("_ended")), 3)
      << "its own holder's release needs none";
  EXPECT_TRUE(eventually([&] {
    EXPECT_TRUE(c.backend().sweep(soon()));
    return admin().number("SELECT COUNT(*) FROM " + table("_ended")) == 0;
  }));
}

// A dump that is restored while the server runs: it makes the tables anew, with what was there
// then.
TEST_P(Quarantine, ADumpThatIsRestoredBeginsOne) {
  Client holder = brief("holder");
  Client other = client("other");
  const Grant early = holder.take({write("early")}, {.lease = 30s});
  const std::vector<std::string> tables{"_locks", "_names", "_home", "_space", "_ended"};
  std::map<std::string, std::string> made;
  for (const std::string& rest : tables) {
    made[rest] = admin().rows("SHOW CREATE TABLE " + table(rest)).at(0).at(1).value();
    admin().rows("CREATE TABLE " + table(rest) + "_b AS SELECT * FROM " + table(rest));
  }
  const Grant lost = holder.take({write("a")}, {.lease = 30s});
  // The time when a table was made is known to the second.
  const std::string dumped = made_at();
  EXPECT_TRUE(eventually([&] { return admin().value("SELECT UNIX_TIMESTAMP()") > dumped; }));
  for (const std::string& rest : tables) {
    admin().rows("DROP TABLE " + table(rest));
    admin().rows(made[rest]);
    admin().rows("INSERT INTO " + table(rest) + " SELECT * FROM " + table(rest) + "_b");
  }
  ASSERT_NE(made_at(), dumped);
  // The counter of stamps is behind the clock by a second, and so is a holder's renewal.
  EXPECT_TRUE(eventually(
      [&] { return admin().number("SELECT " + now_us + " - 1000000") > lost.stamp.value; }));
  expect_refused(other, {write("a")});
  EXPECT_TRUE(holder.renew(lost.stamp, 30s));
  EXPECT_TRUE(holder.renew(early.stamp, 30s));
  cut_short();
  EXPECT_EQ(other.meet_busy({write("a")}).holder, lost.stamp);
  EXPECT_GT(other.take({write("b")}).stamp, lost.stamp);
}

// The same, and a holder comes first.
TEST_P(Quarantine, AHolderThatMissesItsHoldLooks) {
  Client holder = brief("holder");
  const Grant lost = holder.take({write("a")}, {.lease = 30s});
  admin().rows("DELETE FROM " + table("_locks"));
  // Only the identity: `home` is as it was.
  admin().rows("UPDATE " + table("_home") + " SET identity = 'elsewhere'");
  EXPECT_TRUE(holder.renew(lost.stamp, 30s));
  EXPECT_TRUE(holder.is_live(lost.stamp));
}

// While rows are put back from a backup, nothing is granted.
TEST_P(Quarantine, NothingIsGrantedWithoutAnIdentity) {
  Client c = client();
  admin().rows("CREATE TABLE " + table("_b") + " AS SELECT * FROM " + table("_home"));
  admin().rows("DELETE FROM " + table("_home"));
  expect_refused(c, {write("a")});
  admin().rows("INSERT INTO " + table("_home") + " SELECT * FROM " + table("_b"));
  EXPECT_TRUE(c.take({write("a")}).stamp);
}

// Acquires, renewals and changes of the configuration while one loss follows the other.
TEST_P(Quarantine, StepsDoNotWaitForEachOtherInACircle) {
  Client boss = client("boss");
  boss.change(SetMaxLease{1s});
  const std::int64_t before = deadlocks();
  std::atomic<bool> over = false;
  std::atomic<int> granted = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      Client c = client("app" + std::to_string(i));
      while (!over) {
        const Result<AcquireOutcome> outcome =
            c.ask({write("a"), write("b" + std::to_string(i))}, {.lease = 2s});
        const Grant* const grant = outcome ? std::get_if<Grant>(&*outcome) : nullptr;
        if (grant == nullptr) continue;
        ++granted;
        (void)c.ask_to_renew(grant->stamp, 3s);  // longer than the longest: it is noted
        (void)c.release(grant->stamp);
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    move();
    boss.change(SetMaxLease{i % 2 == 0 ? 1s : 2s});
    const int so_far = granted;
    expect_refused(boss, {write("z")});
    cut_short();
    EXPECT_TRUE(eventually([&] { return granted > so_far; }));
  }
  over = true;
  threads.clear();
  if (strategy() != "unique-index") {
    EXPECT_EQ(deadlocks(), before);
  }
}

LOCKSET_MYSQL_STRATEGIES(Quarantine);

}  // namespace
}  // namespace lockset::mysql_tests
