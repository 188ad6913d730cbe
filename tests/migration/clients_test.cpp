// What the holds tell about the clients that hold them, and the sum of the shadow's reports.
#include "migration/clients.h"

#include <gtest/gtest.h>

namespace lockset::migrate {
namespace {

using namespace std::chrono_literals;

HoldInfo hold(const std::string& name, const std::string& instance, const std::string& label = "") {
  HoldInfo info;
  info.stamp = Stamp{1};
  info.items = {write(name)};
  info.owner = {"app", instance, 0, label};
  return info;
}

TEST(Clients, ACountOfHoldsByPhase) {
  Inspection seen;
  seen.holds = {hold("a", "i-0.1.0"),        hold("b", "i-0.1.0+0"),   hold("c", "i-0.1.0+2:a.17"),
                hold("d", "i-0.1.0+2:a"),    hold("e", "i-0.1.0+4:a"), hold("f", "i-0.1.0+4:b"),
                hold("@migrate", "i-0.1.0"), hold("@shadow:i", "i"),   hold("@app:x", "i-0.1.0")};
  const MigrationStatus::Holds holds = count_holds(seen, 10);
  EXPECT_EQ(holds.alone, 3U) << "a tag of another migration counts for nothing";
  EXPECT_EQ(holds.by_phase[0], 1U);
  EXPECT_EQ(holds.by_phase[1], 0U);
  EXPECT_EQ(holds.by_phase[2], 2U);
  EXPECT_EQ(holds.by_phase[3], 0U);
  EXPECT_EQ(holds.by_phase[4], 1U);
}

TEST(Clients, OneClientInBothStoresIsOne) {
  Inspection in_old;
  in_old.holds = {hold("a", "i-0.1.0+2:a"), hold("b", "legacy-0.0.9")};
  WaiterInfo waiter;
  waiter.items = {write("a")};
  waiter.owner = {"app", "w-0.1.0+2:a", 0, ""};
  in_old.waiters = {waiter};
  Inspection in_new;
  in_new.holds = {hold("a", "i-0.1.0+2:a.17"), hold("c", "i-0.1.0+4:a"),
                  hold("@migrate", "me-0.1.0")};
  const std::vector<MigrationClient> clients = clients_of(&in_old, &in_new, 10);
  ASSERT_EQ(clients.size(), 3U);
  EXPECT_EQ(clients[0].version, "0.1.0");
  EXPECT_TRUE(clients[0].follows);
  EXPECT_EQ(clients[0].holds, 2U);  // a, with its two parts, and c
  EXPECT_EQ(clients[1].version, "0.0.9");
  EXPECT_FALSE(clients[1].follows);
  EXPECT_TRUE(clients[1].in_old_store);
  EXPECT_EQ(clients[2].holds, 0U);
}

TEST(Clients, ReportsOfTheShadowAddUpAndBadOnesAreLeftOut) {
  Inspection in_new;
  in_new.holds = {
      hold("@shadow:a", "a",
           "tried=12 granted=11 differences=1 errors=0 skipped=3 median_us=800 p99_us=2100"),
      hold("@shadow:b", "b",
           "tried=2 granted=1 differences=0 errors=1 skipped=0 median_us=900 p99_us=1000"),
      hold("@shadow:c", "c", "tried=2 granted=1"),
      hold("@shadow:d", "d",
           "tried=x granted=1 differences=0 errors=1 skipped=0 median_us=9 p99_us=1"),
      hold("@shadow:e", "e", ""),
      hold("other", "f",
           "tried=2 granted=1 differences=0 errors=1 skipped=0 median_us=9 p99_us=1")};
  const MigrationStatus::Shadow sum = sum_of_reports(in_new);
  EXPECT_EQ(sum.clients, 2U);
  EXPECT_EQ(sum.tried, 14U);
  EXPECT_EQ(sum.granted, 12U);
  EXPECT_EQ(sum.differences, 1U);
  EXPECT_EQ(sum.errors, 1U);
  EXPECT_EQ(sum.skipped, 3U);
  EXPECT_EQ(sum.median, 900us);
  EXPECT_EQ(sum.p99, 2100us);
}

}  // namespace
}  // namespace lockset::migrate
