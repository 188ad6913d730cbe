// A program that follows a migration has no right to change it, nor to break holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lockset/lockset.h"
#include "tests/migration/backend/pair.h"
#include "tests/support/wait.h"

namespace lockset::test {
namespace {

using Phase = MigrationPhase;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Process open_program(Pair& pair) {
  Process process = pair.open();
  process.to_old->of_a_program = process.to_new->of_a_program = true;
  return process;
}

// SEM 21
TEST(MigrateRights, ASwitchThatNobodyEndsIsWaitedForAndSaysWhoCanEndIt) {
  for (const Step step : {Step::to_new, Step::to_old}) {
    SCOPED_TRACE(static_cast<int>(step));
    Pair pair;
    pair.go_to(step == Step::to_new ? Phase::dual_old : Phase::dual_new);
    const Process process = open_program(pair);
    Client client = Pair::client(process);
    const Stamp before = client.take({write("held")}).stamp;
    pair.mark_old(step);
    std::string said;
    // It asks for the right after 5 s, and continues without it.
    ASSERT_TRUE(eventually(
        [&] {
          const Result<AcquireOutcome> outcome = client.ask(a);
          EXPECT_FALSE(outcome);
          if (outcome) return true;
          EXPECT_EQ(outcome.error().code, Errc::unavailable) << outcome.error().message;
          said = outcome.error().message;
          return said.find("operator") != std::string::npos;
        },
        2 * patience));
    EXPECT_THAT(said,
                AllOf(HasSubstr("lockset migrate status"), HasSubstr("lockset migrate advance"),
                      HasSubstr("lockset migrate rollback"), HasSubstr("user 'app'"),
                      Not(HasSubstr("\n"))));
    EXPECT_TRUE(client.renew(before, std::chrono::seconds(30))) << "holds live on";
    pair.mark_old(step == Step::to_new ? Step::dual_old : Step::dual_new);
    (void)client.take(a);
    EXPECT_TRUE(client.release(before));
    // Nothing is known about the next switch yet.
    pair.mark_old(step);
    const Result<AcquireOutcome> outcome = client.ask({write("b")});
    ASSERT_FALSE(outcome);
    EXPECT_THAT(outcome.error().message, Not(HasSubstr("operator")));
  }
}

// One program with the right does it for all.
TEST(MigrateRights, AnOperatorsProgramEndsASwitchThatNobodyEnds) {
  Pair pair;
  pair.go_to(Phase::dual_old);
  const Process of_program = open_program(pair);
  Client program = Pair::client(of_program);
  const Process of_operator = pair.open();
  Client other = Pair::client(of_operator);
  pair.mark_old(Step::to_new);
  ASSERT_TRUE(eventually([&] { return other.ask(a).ok(); }, 2 * patience));
  (void)program.take({write("b")});
}

// It releases what an unfinished attempt left.
// SEM 14
TEST(MigrateRights, HalvesOfAnAttemptAreGivenBackWithoutTheRightToBreakThem) {
  for (const bool other_process : {false, true}) {
    Pair pair;
    pair.go_to(Phase::dual_old);
    const Process process = open_program(pair);
    Client client = Pair::client(process);
    process.to_new->faults().script(Call::try_acquire, Fault::delay);
    const Token token = Token::random();
    const Result<AcquireOutcome> outcome = client.ask_once(a, {.token = token});
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, Errc::indeterminate);
    ASSERT_EQ(pair.in_old().size(), 1);
    // A process that knows only the attempt's token looks up its owner.
    const Process asking = other_process ? open_program(pair) : process;
    const Result<std::optional<Grant>> found = asking.backend->resolve(token, soon());
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_FALSE(*found);
    EXPECT_THAT(pair.in_any(), IsEmpty());
  }
}

}  // namespace
}  // namespace lockset::test
