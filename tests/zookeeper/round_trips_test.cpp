// The cost of an acquire and a release when others use the same names. Several requests that are
// sent together are one round trip. Their answers meet later requests on the way, so this test
// counts requests; a separate test checks that they are sent together. (tests/conformance counts
// the round trips of a client that is alone with its names.)
#include <algorithm>
#include <map>
#include <string>
#include <thread>

#include "tests/support/tcp_proxy.h"
#include "tests/zookeeper/fixture.h"

namespace lockset::zookeeper_tests {
namespace {

using test::TcpProxy;

class RoundTrips : public ZookeeperTest {
 protected:
  Wanted names(std::size_t count) {
    Wanted wanted;
    for (std::size_t i = 0; i < count; ++i) {
      wanted.push_back(write("n" + std::to_string(count) + "." + std::to_string(i)));
    }
    return wanted;
  }
  // The number of requests in the busiest session.
  template <class Call>
  std::size_t of(Call call) {
    const std::map<std::string, std::size_t> before = received();
    call();
    std::size_t most = 0;
    for (const auto& [connection, count] : received()) {
      const auto then = before.find(connection);
      if (then != before.end()) most = std::max(most, count - then->second);
    }
    return most;
  }
  std::size_t to_take(Client& client, const Wanted& wanted) {
    Stamp stamp;
    const std::size_t taking = of([&] { stamp = client.take(wanted).stamp; });
    EXPECT_EQ(of([&] { EXPECT_TRUE(client.release(stamp)); }), 1U);
    return taking;
  }
  static void take_and_release(Client& client, const Wanted& wanted) {
    EXPECT_TRUE(client.release(client.take(wanted).stamp));
  }
};

TEST_F(RoundTrips, AreTwoForNamesThatOthersTookAndOneForOwn) {
  Client other = client("other");
  Client mine = client();
  take_and_release(mine, {write("to get the sessions ready")});
  for (const std::size_t count : {1U, 32U}) {
    SCOPED_TRACE(count);
    const std::size_t cached = 1;                    // the request to grant
    const std::size_t reading = 2 + count + cached;  // sync, the configuration, every name
    const Wanted wanted = names(count);
    take_and_release(other, wanted);
    EXPECT_EQ(to_take(mine, wanted), reading);
    EXPECT_EQ(to_take(mine, wanted), cached);
    EXPECT_EQ(to_take(mine, wanted), cached);
    // The cached state is out of date: that costs one more, once. From then on it reads first.
    take_and_release(other, wanted);
    EXPECT_EQ(to_take(mine, wanted), cached + reading);
    for (int i = 0; i < 3; ++i) {
      take_and_release(other, wanted);
      EXPECT_EQ(to_take(mine, wanted), reading);
    }
    // Alone with the names again.
    EXPECT_EQ(to_take(mine, wanted), reading);
    EXPECT_EQ(to_take(mine, wanted), cached);
  }
}

// SEM 27: a write that changes traces is as many.
TEST_F(RoundTrips, AreNotMoreForNamesThatAreObserved) {
  Client other = client("other");
  Client mine = client();
  take_and_release(mine, {write("to get the sessions ready")});
  mine.observe_one("to begin with");
  constexpr std::size_t count = 8;
  const Wanted wanted = names(count);
  std::vector<std::string> names;
  for (const LockRequest& item : wanted) names.push_back(item.name);
  take_and_release(other, wanted);
  constexpr std::size_t looking = 2 + 2 * count;  // a write, each name and trace, configuration
  EXPECT_EQ(of([&] { mine.observe(names); }), looking + 2 * count) << "with the traces made";
  // Once, it also looks for who is in line.
  EXPECT_EQ(to_take(mine, wanted), 2 + count + count + 1);
  EXPECT_EQ(to_take(mine, wanted), 1U);
  take_and_release(other, wanted);
  // What an observation saw need not be read again.
  EXPECT_EQ(of([&] { mine.observe(names); }), looking);
  EXPECT_EQ(to_take(mine, wanted), 1U);
  take_and_release(other, wanted);
  EXPECT_EQ(to_take(mine, wanted), 1 + 2 + count + 1);
  take_and_release(other, wanted);
  EXPECT_EQ(to_take(mine, wanted), 2 + count + 1);
}

// SEM 29, 30: the request that grants also ends the old hold. After that a renewal need not look
// for the new one.
TEST_F(RoundTrips, AnUpgradeAndADowngradeAreOneEach) {
  Client mine = client();
  take_and_release(mine, {write("to get the sessions ready")});
  for (const std::size_t count : {1U, 32U}) {
    SCOPED_TRACE(count);
    const Wanted writes = names(count);
    Wanted reads;
    for (const LockRequest& item : writes) reads.push_back(read(item.name));
    Stamp stamp = mine.take(reads).stamp;
    EXPECT_EQ(of([&] { stamp = mine.take(writes, {.replaces = stamp}).stamp; }), 1U);
    EXPECT_EQ(of([&] { stamp = mine.take(reads, {.replaces = stamp}).stamp; }), 1U);
    EXPECT_EQ(of([&] { EXPECT_TRUE(mine.renew(stamp, 1min)); }), 2U);
    EXPECT_TRUE(mine.release(stamp));
  }
}

// P6: a renewal of many holds is one write for the session. After somebody has broken any client's
// hold, it is one request per hold, once.
TEST_F(RoundTrips, ARenewalAsksForHoldsOnlyWhereOneWasBroken) {
  constexpr std::size_t count = 32;
  constexpr std::size_t session = 2;  // the write, and the look for broken holds
  Client other = client("other");
  Client mine = client();
  std::vector<RenewRequest> requests;
  for (const LockRequest& name : names(count)) {
    requests.push_back({mine.take({name}).stamp, 1min});
  }
  std::size_t renewed = 0;
  const auto renew = [&] {
    return of([&] {
      const RenewReply reply = mine.backend().renew(mine.owner(), requests, soon()).value();
      renewed = 0;
      for (const auto& renewal : reply.renewals) renewed += renewal ? 1 : 0;
    });
  };
  EXPECT_EQ(renew(), session);
  EXPECT_EQ(renewed, count);
  requests.push_back({mine.take({write("later")}).stamp, 1min});
  EXPECT_EQ(renew(), session);
  EXPECT_EQ(renewed, count + 1);
  for (const std::size_t broken : {std::size_t{3}, count}) {
    ASSERT_TRUE(other.break_hold(requests[broken].hold.stamp));
    const std::size_t left = renewed - 1;
    EXPECT_EQ(renew(), session + left + 1);
    EXPECT_EQ(renewed, left);
    EXPECT_EQ(renew(), session);
    EXPECT_EQ(renewed, left);
  }
}

// Reading any number of names is one round trip: all requests are sent before the first answer has
// come.
TEST_F(RoundTrips, QuestionsAboutAllNamesGoTogether) {
  TcpProxy proxy(server().port());
  Client other = client("other");
  Client mine(open_backend(url_through(proxy.port()), soon()).value());
  take_and_release(mine, {write("to get the sessions ready")});
  const Wanted wanted = names(32);
  take_and_release(other, wanted);
  const std::map<std::string, std::size_t> before = received();
  proxy.black_hole(TcpProxy::Way::to_client);
  Stamp stamp;
  {
    const std::jthread taking([&] { stamp = mine.take(wanted).stamp; });
    EXPECT_TRUE(receives(before, 2 + 32)) << "not all questions came";
    proxy.heal();
  }
  EXPECT_TRUE(mine.release(stamp));
}

}  // namespace
}  // namespace lockset::zookeeper_tests
