// What works while one of the two stores can't be reached, and which pairs may be opened at all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "lockset/registry.h"
#include "tests/migration/backend/pair.h"
#include "tests/support/wait.h"

namespace lockset::test {
namespace {

using Phase = MigrationPhase;
using testing::HasSubstr;
using testing::Not;

void everything_works(Process& process) {
  Client client = Pair::client(process);
  const Token token = Token::random();
  const Stamp stamp = client.take(a, {.token = token}).stamp;
  EXPECT_TRUE(client.renew(stamp, std::chrono::seconds(30)));
  EXPECT_TRUE(client.resolve(token));
  EXPECT_TRUE(client.is_live(stamp));
  (void)client.meet_busy(a, {.will_wait = true});
  client.set_permits("p", Mode::read, 3);
  EXPECT_TRUE(process.backend->sweep(soon()));
  EXPECT_TRUE(client.release(stamp));
}

TEST(MigrateReach, OldOnlyAndShadowNeedNoNewStore) {
  for (const Phase phase : {Phase::old_only, Phase::shadow}) {
    SCOPED_TRACE(to_string(phase));
    Pair pair;
    pair.go_to(phase);
    Process process = pair.try_open([](Process& p) { p.to_new->down = true; }).value();
    everything_works(process);
    // A store that was there and went away.
    Process later = pair.open();
    later.to_new->down = true;
    everything_works(later);
  }
}

TEST(MigrateReach, NewStoreThatComesLaterIsUsedWhenThePhaseNeedsIt) {
  Pair pair;
  pair.go_to(Phase::shadow);
  Process process = pair.try_open([](Process& p) { p.to_new->down = true; }).value();
  Client client = Pair::client(process);
  (void)client.take({write("x")});
  pair.mark_old(Step::dual_old);
  const auto outcome = client.ask(a);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, Errc::unavailable);
  process.to_new->down = false;
  (void)client.take(a);
  // Next to what the shadow may have left there.
  const auto there = pair.in_new();
  EXPECT_TRUE(std::any_of(there.begin(), there.end(),
                          [](const HoldInfo& hold) { return hold.items == a; }));
}

TEST(MigrateReach, AfterTheSwitchTheOldStoreMayBeGone) {
  for (const Phase phase : {Phase::new_only, Phase::closed, Phase::finished}) {
    SCOPED_TRACE(to_string(phase));
    Pair pair;
    pair.go_to(phase);
    Process process = pair.try_open([](Process& p) { p.to_old->down = true; }).value();
    everything_works(process);
    EXPECT_EQ(process.to_old->calls(), 0);
  }
}

// The old store may be gone then, and is not needed. But if it answers that its holds count, one of
// the two stores was restored from a backup, and holds could be taken in both.
// SEM 21
TEST(MigrateReach, AnOpenStoreBesideOneWhoseHoldsCountIsRefused) {
  for (const Step of_old : {Step::none, Step::shadow, Step::dual_old, Step::to_new}) {
    SCOPED_TRACE(static_cast<int>(of_old));
    Pair pair;
    pair.go_to(Phase::new_only);
    pair.mark_old(of_old);
    const auto opened = pair.try_open();
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Errc::misconfigured);
    EXPECT_TRUE(pair.try_open([](Process& p) { p.to_old->down = true; }));
  }
  // Steps that cross each other, for a moment.
  for (const Step of_old : {Step::to_old, Step::dual_new, Step::closed}) {
    Pair pair;
    pair.go_to(Phase::new_only);
    pair.mark_old(of_old);
    (void)Pair::client(pair.open()).take(a);
  }
}

TEST(MigrateReach, ANewStorePutBackToAPhaseThatIsOverGrantsNothingToThoseWhoAskBoth) {
  for (const Phase phase : {Phase::dual_old, Phase::shadow, Phase::old_only}) {
    SCOPED_TRACE(to_string(phase));
    Pair pair;
    pair.go_to(phase);
    Client client = Pair::client(pair.open());
    (void)client.take({write("b")});
    pair.mark_new(Step::open);
    if (phase != Phase::dual_old) continue;  // the other calls ask only the old store
    const auto outcome = client.ask(a);
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, Errc::misconfigured);
  }
}

TEST(MigrateReach, BothNeedBothWhileDual) {
  for (const Phase phase : {Phase::dual_old, Phase::dual_new}) {
    for (const bool old_down : {true, false}) {
      Pair pair;
      pair.go_to(phase);
      const auto opened =
          pair.try_open([&](Process& p) { (old_down ? p.to_old : p.to_new)->down = true; });
      ASSERT_FALSE(opened);
      EXPECT_EQ(opened.error().code, Errc::unavailable);
    }
  }
}

TEST(MigrateReach, StoresThatDontBelongTogetherAreRefusedWhenOpenedAndAfter) {
  Pair pair;
  pair.go_to(Phase::dual_old);
  Client client = Pair::client(pair.open());
  pair.mark_new(Step::none);  // as if restored from a backup
  const auto opened = pair.try_open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::misconfigured);
  const auto outcome = client.ask(a);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, Errc::misconfigured);
  EXPECT_TRUE(pair.in_old().empty());
}

TEST(MigrateReach, TraitsAreThoseOfTheWeaker) {
  Traits strong;
  strong.push_wakeup = strong.queued_wakeup = strong.bounded_overtaking = strong.lists_waiters =
      strong.permanent_leases = strong.holds_outlive_process = strong.shared_between_processes =
          strong.floors = true;
  strong.renew_chunk = 500;
  Traits weak;
  weak.renew_chunk = 100;
  weak.session_leases = true;
  for (const bool old_is_weak : {true, false}) {
    Pair pair;
    const Process process = pair.try_open([&](Process& p) {
                                  p.to_old->other_traits = old_is_weak ? weak : strong;
                                  p.to_new->other_traits = old_is_weak ? strong : weak;
                                })
                                .value();
    const Traits both = process.backend->traits();
    EXPECT_FALSE(both.push_wakeup || both.queued_wakeup || both.bounded_overtaking ||
                 both.lists_waiters || both.permanent_leases || both.holds_outlive_process ||
                 both.shared_between_processes || both.floors || both.can_migrate);
    EXPECT_TRUE(both.session_leases);
    EXPECT_EQ(both.renew_chunk, 100);
  }
  Pair pair;
  const Process process =
      pair.try_open([&](Process& p) { p.to_old->other_traits = p.to_new->other_traits = strong; })
          .value();
  const Traits both = process.backend->traits();
  EXPECT_TRUE(both.push_wakeup && both.queued_wakeup && both.bounded_overtaking &&
              both.lists_waiters && both.permanent_leases && both.holds_outlive_process &&
              both.shared_between_processes && both.floors);
  EXPECT_FALSE(both.session_leases || both.can_migrate);
}

TEST(MigrateReach, StoreThatCantMigrateIsRefusedWithTheReason) {
  for (const bool old_cant : {true, false}) {
    Pair pair;
    const auto opened = pair.try_open([&](Process& p) {
      Traits traits;
      traits.can_migrate = false;
      (old_cant ? p.to_old : p.to_new)->other_traits = traits;
    });
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Errc::unsupported);
    EXPECT_THAT(opened.error().message, HasSubstr(old_cant ? "old" : "new"));
  }
}

// --- addresses ---

TEST(MigrateAddress, BadOnesGetOneClearLineWithoutSecrets) {
  const std::string secret = "s3cr3t";
  const std::string good = "memory%3A";
  for (const std::string& url : {
           std::string("migrate:"),
           std::string("migrate:?from=") + good,
           std::string("migrate:?to=") + good,
           "migrate:?from=&to=" + good,
           "migrate:?from=" + good + "&to=" + good,
           "migrate:?from=" + good + "&to=postgresql%3A%2F%2Fu%3As3cr3t%40h%3Ax%2Fd",
           "migrate:?from=mysql://u:s3cr3t@h/d&to=" + good + "&more=s3cr3t",
           // A password with an & that was not encoded.
           "migrate:?from=mysql://u:p&s3cr3t@h/d&to=" + good,
           "migrate:?from=mysql://u:p&s3cr3t=x@h/d&to=" + good,
           "migrate:?from=" + good + "&to=nosuchscheme%3A%2F%2Fu%3As3cr3t%40h%2Fd",
           "migrate:?from=u%3As3cr3t%40h&to=" + good,
           std::string("migrate://u:s3cr3t@h/?from=memory%3A&to=sqlite%3A%2Fx"),
           std::string("migrate:/tmp/s3cr3t?from=memory%3A&to=sqlite%3A%2Fx"),
           "migrate:?from=migrate%3A%3Ffrom%3Ds3cr3t&to=" + good,
           "migrate:?from=%zzs3cr3t&to=" + good,
       }) {
    SCOPED_TRACE(url);
    for (const auto& said :
         {open_backend(url, soon()).ok() ? Status{} : Status{open_backend(url, soon()).error()},
          init_space(url, soon())}) {
      ASSERT_FALSE(said);
      EXPECT_THAT(said.error().message, Not(HasSubstr(secret)));
      EXPECT_THAT(said.error().message, Not(HasSubstr("\n")));
      EXPECT_FALSE(said.error().message.empty());
    }
    const auto findings = examine_space(url, soon());
    if (!findings) {
      EXPECT_THAT(findings.error().message, Not(HasSubstr(secret)));
    } else {
      for (const Finding& each : *findings) {
        EXPECT_THAT(each.subject + each.text, Not(HasSubstr(secret)));
      }
    }
  }
}

TEST(MigrateAddress, MigrateUrlCarriesAnyTwoAddresses) {
  const std::string from = "mysql://app:p%26w@old:3306/locks?tls=on&x=%25";
  const std::string to = "sqlite:/a folder/locks #1?.db";
  const Url url = Url::parse(migrate_url(from, to)).value();
  EXPECT_EQ(url.scheme, "migrate");
  EXPECT_EQ(url.params.at("from"), from);
  EXPECT_EQ(url.params.at("to"), to);
}

}  // namespace
}  // namespace lockset::test
