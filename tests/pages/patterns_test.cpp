// The C++ of docs/patterns.md compiles, and does what the page says.
#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <variant>

#include "lockset/lockset.h"
#include "tests/sqlite/folder.h"

namespace {

using lockset::EditConflict, lockset::Errc, lockset::Hold, lockset::Locks, lockset::Observation,
    lockset::read, lockset::write;

TEST(PatternsPage, ReentrantLocks) {
  Locks plain = lockset::open("memory:").value();
#include "patterns/re-entrant-locks.c++"
  EXPECT_EQ(inner.stamp(), outer.stamp());
}

TEST(PatternsPage, AMutexOfTheLanguage) {
  Locks locks = lockset::open("memory:").value();
#include "patterns/a-mutex-of-the-language.c++"
  EXPECT_TRUE(ledger.valid());
  EXPECT_FALSE(locks.try_acquire({write("ledger")}).value());
}

// What the page's code does with one index, which has to be rebuilt. SEM 29, 30
struct Upgrading {
  Locks locks = lockset::open("memory:").value();
  int index = 0;
  int rebuilt = 0;

  Hold run() {
    const auto is_old = [](int) { return true; };
    const auto rebuild = [this](int) { ++rebuilt; };
#include "patterns/upgrade-and-downgrade.c++"
    return hold;
  }
};

TEST(PatternsPage, UpgradeAndDowngrade) {
  Upgrading alone;
  const Hold hold = alone.run();
  EXPECT_EQ(alone.rebuilt, 1);
  ASSERT_TRUE(hold.valid());
  EXPECT_EQ(hold.items()[0].mode, lockset::Mode::read);
}

TEST(PatternsPage, UpgradeAndDowngradeWhileOthersRead) {
  Upgrading shared;
  shared.locks.set_permits("index", lockset::Mode::read, 1000).value();
  const Hold other = shared.locks.acquire({read("index")}).value();
  const Hold hold = shared.run();
  EXPECT_EQ(shared.rebuilt, 0);
  EXPECT_FALSE(hold.valid());
  EXPECT_TRUE(other.valid());
}

#ifdef LOCKSET_HAS_SQLITE  // a store whose holds outlive their process
TEST(PatternsPage, OfflineLocksOfPeople) {
  const lockset::test::Folder folder;
  Locks locks = lockset::open(folder.url("locks.db")).value();
  lockset::UserSessions sessions(locks, {});
  std::string shown;
  const auto show = [&](const std::string& text) { shown = text; };
  sessions.take({"bob", "c021"}, {write("invoice/7")}).value();
#include "patterns/offline-locks-of-people.c++"
  EXPECT_TRUE(shown.starts_with("\"invoice/7\" is locked by bob (session c021) since 2")) << shown;
  EXPECT_TRUE(shown.ends_with(" UTC")) << shown;
}
#endif

// What the page shows as the error of the acquire. SEM 28
TEST(PatternsPage, OptimisticOfflineLock) {
  Locks locks = lockset::open("memory:").value();
  struct {
    std::string hidden;
  } form;
  const auto page_gap = [&] {
    locks.acquire({write("invoice/7")}, {.label = "bob"}).value().release().value();
  };
#include "patterns/optimistic-offline-lock.c++"
  ASSERT_FALSE(hold.ok());
  EXPECT_EQ(hold.error().code, Errc::changed);
  const std::string& text = hold.error().message;
  EXPECT_TRUE(text.starts_with("\"invoice/7\" has changed: bob was granted a write (stamp "))
      << text;
  EXPECT_TRUE(text.ends_with(" ago); read and observe it again")) << text;
}

TEST(PatternsPage, OptimisticOfflineLockUnchanged) {
  Locks locks = lockset::open("memory:").value();
  struct {
    std::string hidden;
  } form;
  const auto page_gap = [] {};
#include "patterns/optimistic-offline-lock.c++"
  EXPECT_TRUE(hold.ok());
}

}  // namespace
