// SEM 10: renewals never queue behind other calls, and work if no connection can be added.
#include "backends/server/lanes.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <optional>

#include "tests/support/wait.h"

namespace lockset::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::in;

struct NumberedConnection {
  int number;
  [[nodiscard]] static bool hung_up() { return false; }
};

class LanesTest : public ::testing::Test {
 protected:
  using Lease = Lanes<NumberedConnection>::Lease;

  Lease taken(Lane lane) { return lanes_.take(lane, in(seconds(10))).value(); }

  std::atomic<int> opened_{0};
  std::atomic<int> refused_{0};
  std::atomic<int> limit_{1000};  // connections that the server accepts
  Lanes<NumberedConnection> lanes_{
      2,
      [this]() -> Result<std::unique_ptr<NumberedConnection>> {
        if (opened_ >= limit_) {
          ++refused_;
          return Error{Errc::unavailable, "too many"};
        }
        return std::make_unique<NumberedConnection>(NumberedConnection{++opened_});
      },
      "the store"};
};

TEST_F(LanesTest, ARenewalDoesNotWaitForOtherCalls) {
  const Lease one = taken(Lane::common);
  const Lease two = taken(Lane::acquire);
  EXPECT_FALSE(lanes_.take(Lane::common, in(milliseconds(20))));
  const Lease renewal = taken(Lane::renewal);
  EXPECT_EQ(renewal->number, 3);
}

// The renewer's connection, and one for a program that renews a hold itself.
TEST_F(LanesTest, TwoRenewalsDoNotWaitForEachOther) {
  const Lease one = taken(Lane::common);
  const Lease two = taken(Lane::common);
  const Lease renewal = taken(Lane::renewal);
  const Lease other = taken(Lane::renewal);
  EXPECT_EQ(opened_, static_cast<int>(most_connections(2, false)));
}

TEST_F(LanesTest, ARenewalOpensNoConnectionWhileOneIsIdle) {
  { const Lease one = taken(Lane::common); }
  { const Lease renewal = taken(Lane::renewal); }
  EXPECT_EQ(opened_, 1);
  EXPECT_TRUE(lanes_.renewal.take(in(seconds(10))));
  EXPECT_EQ(opened_, 2);
  EXPECT_EQ(taken(Lane::renewal)->number, 2) << "its own comes first";
}

TEST_F(LanesTest, WhereTheServerTakesNoMoreARenewalWaitsForTheOthers) {
  limit_ = 1;
  std::optional<Lease> one = taken(Lane::common);
  const Result<Lease> none = lanes_.take(Lane::renewal, in(milliseconds(20)));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Errc::unavailable);
  const int refused_before = refused_;
  auto renewal = std::async(std::launch::async, [&] { return taken(Lane::renewal)->number; });
  EXPECT_TRUE(test::eventually([&] { return refused_ > refused_before; }));
  one.reset();
  EXPECT_EQ(renewal.get(), 1);
}

TEST(MostConnections, CountsThePoolTheRenewalsAndTheOneThatListens) {
  EXPECT_EQ(most_connections(16, false), 16 + renewal_connections);
  EXPECT_EQ(most_connections(16, true), 17 + renewal_connections);
}

}  // namespace
}  // namespace lockset::server
