// What an acquire and a release cost where others use the same names, in round trips.
// tests/conformance counts those of a client that has the names for itself.
#include <map>
#include <sstream>
#include <string>
#include <thread>

#include "tests/support/tcp_proxy.h"
#include "tests/zookeeper/fixture.h"
#include "tests/zookeeper/four_letters.h"

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
  // Of the sessions that are open by now.
  template <class Call>
  std::size_t of(Call call) {
    proxy_.reset_counts();
    call();
    return proxy_.round_trips();
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
  [[nodiscard]] Client proxied() const {
    return Client(open_backend(url_through(proxy_.port()), soon()).value());
  }

  // What the server got so far, by connection.
  static std::map<std::string, std::size_t> received() {
    std::map<std::string, std::size_t> counts;
    std::istringstream lines(test::four_letters(server().port(), "cons"));
    for (std::string line; std::getline(lines, line);) {
      const std::size_t name_end = line.find('[');
      const std::size_t count = line.find("recved=");
      if (name_end == std::string::npos || count == std::string::npos) continue;
      counts[line.substr(0, name_end)] = std::stoul(line.substr(count + 7));
    }
    return counts;
  }

  TcpProxy proxy_{server().port()};
};

TEST_F(RoundTrips, AreTwoForANameThatOthersTookAndOneForOwn) {
  Client other = client("other");
  Client mine = proxied();
  take_and_release(mine, {write("to get the sessions ready")});
  const Wanted wanted = names(1);
  take_and_release(other, wanted);
  EXPECT_EQ(to_take(mine, wanted), 2U) << "read, and asked for";
  EXPECT_EQ(to_take(mine, wanted), 1U) << "known by now";
  EXPECT_EQ(to_take(mine, wanted), 1U);
  // What was known is out of date: that is one more, once. From then on it reads first.
  take_and_release(other, wanted);
  EXPECT_EQ(to_take(mine, wanted), 3U);
  for (int i = 0; i < 3; ++i) {
    take_and_release(other, wanted);
    EXPECT_EQ(to_take(mine, wanted), 2U);
  }
  // Alone with it again.
  EXPECT_EQ(to_take(mine, wanted), 2U);
  EXPECT_EQ(to_take(mine, wanted), 1U);
}

// However many names there are to read, that is one round trip: all questions leave before the
// first answer has come. (The proxy can't count it, for the first answers meet the last questions.)
TEST_F(RoundTrips, QuestionsAboutAllNamesGoTogether) {
  Client other = client("other");
  Client mine = proxied();
  take_and_release(mine, {write("to get the sessions ready")});
  const Wanted wanted = names(32);
  take_and_release(other, wanted);
  const std::map<std::string, std::size_t> before = received();
  proxy_.black_hole(TcpProxy::Way::to_client);
  Stamp stamp;
  {
    const std::jthread taking([&] { stamp = mine.take(wanted).stamp; });
    EXPECT_TRUE(eventually([&] {
      for (const auto& [connection, count] : received()) {
        const auto then = before.find(connection);
        if (then != before.end() && count >= then->second + 2 + 32) return true;
      }
      return false;
    })) << "not all questions came";
    proxy_.heal();
  }
  EXPECT_TRUE(mine.release(stamp));
  EXPECT_EQ(to_take(mine, wanted), 1U) << "known by now";
}

// Of a set with one name that somebody else took, too.
TEST_F(RoundTrips, AreTwoForASetInWhichOneNameIsNotOnesOwn) {
  Client other = client("other");
  Client mine = proxied();
  take_and_release(other, {write("shared")});
  take_and_release(mine, {write("a"), write("b")});
  EXPECT_EQ(to_take(mine, {write("a"), write("b"), write("shared")}), 2U);
}

}  // namespace
}  // namespace lockset::zookeeper_tests
