// The C++ of the guide and of the pages about one part of the API compiles, and does what they say.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "lockset/lockset.h"
#include "lockset/memory_backend.h"
#include "lockset/migration.h"

// The page's own assertions count in every build.
#undef NDEBUG
#include <cassert>

namespace {

using namespace std::chrono_literals;

// Compiled only: its address is no folder of a test.
[[maybe_unused]] void guide(const std::vector<int>& work) {
  const auto log = [](const std::string&) {};
  const auto write_part = [](int, lockset::Stamp) {};
#include "guide/5-from-c.c++"
}

// Compiled only.
[[maybe_unused]] void migration(const std::string& old_address, const std::string& new_address){
#include "migration/in-a-program.cpp"
}

TEST(ApiPages, Memory) {
#include "backends/memory/memory.c++"
  EXPECT_TRUE(locks.acquire({lockset::write("a")}));
}

TEST(ApiPages, AStoreForEachTest) {
#include "testing-your-program/a-store-for-each-test.c++"
  const lockset::Hold hold = other.acquire({lockset::write("a")}).value();
  EXPECT_FALSE(mine.try_acquire({lockset::write("a")}).value());
}

TEST(ApiPages, WhenALeaseEnds){
#include "testing-your-program/when-a-lease-ends.c++"
}

TEST(ApiPages, WhenTheStoreFails) {
  auto store = lockset::make_memory_store();
#include "testing-your-program/when-the-store-fails.c++"
  EXPECT_TRUE(mine.acquire({lockset::write("a")}));
  *down = true;
  const lockset::Result<lockset::Hold> hold = mine.acquire({lockset::write("b")});
  ASSERT_FALSE(hold);
  EXPECT_EQ(hold.error().code, lockset::Errc::unavailable);
}

TEST(ApiPages, NumbersForPrometheus) {
  const std::string url = "memory:";
  const auto page_gap = [&] {};
#include "operations/numbers-for-prometheus.c++"
  EXPECT_TRUE(reply.starts_with("# HELP lockset_events_total "));
  EXPECT_TRUE(locks.acquire({lockset::write("a")}));
  EXPECT_EQ(metrics->count(lockset::Event::Kind::granted), 1U);
}

}  // namespace
