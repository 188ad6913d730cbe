#include "lockset/patterns/user_sessions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <variant>

#include "tests/patterns/space.h"
#include "tests/support/manual_clock.h"

namespace lockset::patterns_tests {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const UserSession alice{"alice", "8f3a"};
const UserSession alices_other{"alice", "77b1"};
const UserSession bob{"bob", "c021"};

class UserSessionsTest : public SpaceTest {
 protected:
  Stamp taken(UserSessions& from, const UserSession& session, std::vector<LockRequest> wanted) {
    return std::get<Stamp>(from.take(session, std::move(wanted)).value());
  }
  EditConflict conflict(UserSessions& from, const UserSession& session,
                        std::vector<LockRequest> wanted) {
    return std::get<EditConflict>(from.take(session, std::move(wanted)).value());
  }

  Locks locks_ = open_locks();
  UserSessions sessions_{locks_, {.timeout = 5min}};
  Locks later_ = open_locks();  // another process of the application
  UserSessions elsewhere_{later_, {.timeout = 5min}};
};
LOCKSET_PATTERN_SUITE(UserSessionsTest);

// SEM 26
TEST_P(UserSessionsTest, AConflictTellsWhoHasBeenEditingSinceWhen) {
  const auto before = std::chrono::system_clock::now() - 1s;
  const Stamp stamp = taken(sessions_, alice, {write("invoice/7"), write("customer/1")});
  const EditConflict met = conflict(elsewhere_, bob, {write("invoice/7")});
  ASSERT_EQ(met.holds.size(), 1U);
  EXPECT_EQ(met.holds[0].stamp, stamp);
  EXPECT_EQ(met.holds[0].owner.label, "alice (session 8f3a)");
  EXPECT_GE(met.holds[0].since, before);
  EXPECT_LE(met.holds[0].since, std::chrono::system_clock::now() + 1s);
  EXPECT_THAT(met.text(),
              AllOf(HasSubstr("\"invoice/7\" is locked by alice (session 8f3a) since 20"),
                    HasSubstr("UTC"), ::testing::Not(HasSubstr("customer"))));
  EXPECT_THAT(conflict(elsewhere_, alices_other, {write("invoice/7")}).text(), HasSubstr("8f3a"));
}

// SEM 26: nobody has to live on
TEST_P(UserSessionsTest, AHoldOutlivesItsProcess) {
  Stamp stamp;
  {
    Locks gone = open_locks();
    UserSessions request(gone, {.timeout = 5min});
    stamp = taken(request, alice, {write("invoice/7")});
  }
  EXPECT_EQ(conflict(elsewhere_, bob, {write("invoice/7")}).holds.at(0).stamp, stamp);
  EXPECT_TRUE(elsewhere_.release(stamp).ok());
  EXPECT_EQ(elsewhere_.release(stamp).error().code, Errc::not_held);
  EXPECT_GT(taken(elsewhere_, bob, {write("invoice/7")}), stamp);
}

// SEM 26: a second click, a reload, another process
TEST_P(UserSessionsTest, ASessionKeepsWhatItHas) {
  const Stamp stamp = taken(sessions_, alice, {write("invoice/7"), read("rates")});
  EXPECT_EQ(taken(sessions_, alice, {write("invoice/7")}), stamp);
  EXPECT_EQ(taken(elsewhere_, alice, {read("invoice/7")}), stamp);
  EXPECT_EQ(holds().size(), 1U);
  // In part, or more strongly: its own hold is in the way, and is told
  EXPECT_EQ(conflict(sessions_, alice, {write("rates")}).holds.at(0).stamp, stamp);
  EXPECT_EQ(conflict(sessions_, alice, {write("invoice/7"), write("x")}).holds.at(0).stamp, stamp);
}

// SEM 26: from another process, and nothing but the session's
TEST_P(UserSessionsTest, TheEndOfASessionReleasesAllOfIt) {
  (void)taken(sessions_, alice, {write("a")});
  (void)taken(elsewhere_, alice, {write("b"), write("c")});
  (void)taken(sessions_, alices_other, {write("d")});
  (void)taken(sessions_, bob, {write("e")});
  Locks strangers = open_locks({.app = "stranger"});
  UserSessions others(strangers, {.timeout = 5min});
  (void)taken(others, alice, {write("f")});  // another application's session of the same name
  EXPECT_EQ(elsewhere_.held_by(alice).value().size(), 2U);
  EXPECT_EQ(elsewhere_.release_all(alice).value(), 2U);
  EXPECT_EQ(elsewhere_.release_all(alice).value(), 0U);
  EXPECT_TRUE(is_free({write("a"), write("b"), write("c")}));
  for (const char* name : {"d", "e", "f"}) EXPECT_FALSE(is_free({write(name)})) << name;
}

// Exclusive write, exclusive read, read/write. SEM 26
TEST_P(UserSessionsTest, ReadersShareIfThePermitsSaySo) {
  locks_.set_permits("*", Mode::read, 1000).value();
  (void)taken(sessions_, alice, {read("invoice/7")});
  (void)taken(sessions_, bob, {read("invoice/7")});
  EXPECT_EQ(conflict(elsewhere_, alices_other, {write("invoice/7")}).holds.size(), 2U);
}

TEST_P(UserSessionsTest, ThePrefixBoundsWhatIsLookedAt) {
  UserSessions invoices(locks_, {.timeout = 5min, .prefix = "invoice/"});
  EXPECT_EQ(invoices.take(alice, {write("customer/1")}).error().code, Errc::invalid);
  (void)taken(invoices, alice, {write("invoice/1")});
  (void)taken(sessions_, alice, {write("customer/1")});
  EXPECT_EQ(invoices.release_all(alice).value(), 1U);
  EXPECT_FALSE(is_free({write("customer/1")}));
}

TEST_P(UserSessionsTest, RefusesWhatNobodyCouldFindAgain) {
  for (const UserSession& bad :
       {UserSession{"", "1"}, UserSession{"alice", ""}, UserSession{"a\nb", "1"},
        UserSession{"a", std::string(201, 'x')}}) {
    EXPECT_EQ(sessions_.take(bad, {write("a")}).error().code, Errc::invalid);
    EXPECT_EQ(sessions_.release_all(bad).error().code, Errc::invalid);
    EXPECT_EQ(sessions_.touch(bad).error().code, Errc::invalid);
  }
  EXPECT_EQ(sessions_.take(alice, {}).error().code, Errc::invalid);
  UserSessions patient(locks_, {.timeout = 24h});  // longer than the space's longest lease
  EXPECT_EQ(patient.take(alice, {write("a")}).error().code, Errc::invalid);
  EXPECT_TRUE(is_free({write("a")}));
}

// SEM 26: the time-out is counted from the session's last request
TEST(UserSessionsTime, TheTimeoutBeginsAnewWithEachRequest) {
  test::ManualClock clock;
  const auto store = make_memory_store(clock);
  Locks locks = open(lasting_memory(store), {.app = "web"}).value();
  UserSessions sessions(locks, {.timeout = 5min});
  const auto has_conflict = [&] {
    return std::holds_alternative<EditConflict>(sessions.take(bob, {write("a")}).value());
  };
  (void)sessions.take(alice, {write("a")}).value();
  (void)sessions.take(alice, {write("b")}).value();
  clock.advance(4min);
  EXPECT_EQ(sessions.touch(alice).value(), 2U);
  clock.advance(4min);
  EXPECT_TRUE(has_conflict());
  (void)sessions.take(alice, {write("a")}).value();  // a request as well, of this hold
  clock.advance(4min);
  EXPECT_TRUE(has_conflict());
  EXPECT_EQ(sessions.touch(alice).value(), 1U);
  clock.advance(5min);
  EXPECT_FALSE(has_conflict());
  EXPECT_EQ(sessions.touch(alice).value(), 0U);
}

// SEM 26: it is refused and nothing is left behind
TEST(UserSessionsTime, WhereNoHoldOutlivesItsProcess) {
  Locks locks = open("memory:").value();
  UserSessions sessions(locks, {.timeout = 5min});
  EXPECT_EQ(sessions.take(alice, {write("a")}).error().code, Errc::unsupported);
  EXPECT_TRUE(locks.inspect().value().holds.empty());
}

}  // namespace
}  // namespace lockset::patterns_tests
