// Opening by address; and once all steps over a real store, on the machine's clock.
#include <gmock/gmock.h>

#include <filesystem>

#include "lockset/migration.h"
#include "lockset/registry.h"
#include "tests/support/wait.h"

namespace lockset {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

Error refusal(std::string_view from, std::string_view to) {
  Result<Migration> one = Migration::open(from, to, test::soon());
  return one ? Error{} : one.error();
}

TEST(OpenMigration, PairsThatCanNotBe) {
  EXPECT_EQ(refusal("memory:", "memory:").code, Errc::unsupported);
  const Error alone = refusal("memory:", "nothing:");
  EXPECT_EQ(alone.code, Errc::unsupported);
  EXPECT_THAT(alone.message, HasSubstr("the old store"));
  EXPECT_EQ(refusal("", "memory:").code, Errc::invalid);
  EXPECT_EQ(refusal(migrate_url("memory:", "memory:"), "memory:").code, Errc::invalid);
}

TEST(OpenMigration, ShowsNoPassword) {
  for (const Error& each : {refusal("nothing://u:sesame@h/x", "memory:"),
                            refusal("nothing://u:sesame@h/x", "nothing://u:sesame@h/x")}) {
    EXPECT_FALSE(each.message.empty());
    EXPECT_THAT(each.message, ::testing::Not(HasSubstr("sesame")));
  }
}

#ifdef LOCKSET_TEST_SQLITE
TEST(OpenMigration, TheWholeWayAndBackOverSqlite) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / ("lockset-migration-" + Token::random().hex());
  std::filesystem::create_directory(folder);
  const std::string from = "sqlite:" + (folder / "old.db").string();
  const std::string to = "sqlite:" + (folder / "new.db").string();
  {
    Migration one = Migration::open(from, to, test::soon()).value();
    // Each call waits until the conditions have held long enough.
    const auto by = [] { return BootClock::now() + 30s; };
    ASSERT_EQ(one.start(by()).value(), MigrationPhase::shadow);
    ASSERT_EQ(one.advance(by()).value(), MigrationPhase::dual_old);
    const test::Stopwatch watch;
    ASSERT_EQ(one.advance(by()).value(), MigrationPhase::dual_new);
    EXPECT_GE(BootClock::now() - watch.began(), 3s);
    EXPECT_FALSE(one.advance(BootClock::now() + 1s).ok());
    // It counts on from the look of the previous call.
    ASSERT_EQ(one.advance(by()).value(), MigrationPhase::new_only);
    EXPECT_GE(BootClock::now() - watch.began(), 13s);
    EXPECT_LT(watch.elapsed(), 25s);
    ASSERT_EQ(one.roll_back(by()).value(), MigrationPhase::dual_new);
    ASSERT_EQ(one.roll_back(by()).value(), MigrationPhase::dual_old);
    ASSERT_EQ(one.roll_back(by()).value(), MigrationPhase::shadow);
    ASSERT_EQ(one.roll_back(by()).value(), MigrationPhase::old_only);
  }
  std::filesystem::remove_all(folder);
}
#endif

}  // namespace
}  // namespace lockset
