// Users of the digest scheme, and spaces below a path.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "tests/support/tcp_proxy.h"
#include "tests/zookeeper/fixture.h"

namespace lockset::zookeeper_tests {
namespace {

// How many attempts to connect have failed on this machine: only the kernel sees those that a port
// refuses. (proc(5): a line of names, then one of values.)
long refused_connections() {
  std::ifstream file("/proc/net/snmp");
  std::vector<std::string> names;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("Tcp:")) continue;
    std::istringstream words(line);
    const std::vector<std::string> row{std::istream_iterator<std::string>(words), {}};
    const auto at = std::find(names.begin(), names.end(), "AttemptFails");
    if (at != names.end()) return std::stol(row.at(static_cast<std::size_t>(at - names.begin())));
    names = row;
  }
  throw std::runtime_error("/proc/net/snmp has no AttemptFails");
}

class Access : public ZookeeperTest {
 protected:
  // For a space that only user app may use: made by SetUp.
  void SetUp() override {
    ZookeeperTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    path_ = "/u" + Token::random().hex().substr(0, 20);
    init_space(url_as("app:open-sesame"), soon()).value();
    theirs_ = std::make_unique<SpaceView>(hosts(), path_ + "/lockset", "app:open-sesame");
  }
  void TearDown() override {
    if (theirs_) theirs_->raw().remove_tree(path_);
    ZookeeperTest::TearDown();
  }
  static std::string hosts() { return "127.0.0.1:" + std::to_string(server().port()); }
  [[nodiscard]] std::string url_as(const std::string& identity) const {
    return "zookeeper://" + (identity.empty() ? "" : identity + "@") + hosts() + path_;
  }
  SpaceView& theirs() { return *theirs_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::unique_ptr<SpaceView> theirs_;
};

// Every node is for its creator alone: the identity's digest, and all five rights.
TEST_F(Access, OfAllNodesIsTheUsersOwn) {
  Client mine(open_backend(url_as("app:open-sesame"), soon()).value());
  mine.take({write("a"), read("b")});
  mine.meet_busy({write("b")}, {.will_wait = true});
  std::vector<std::string> paths{path(), theirs().space(), theirs().space() + "/config",
                                 theirs().root()};
  for (const char* const part :
       {"/config", "/names", "/holds", "/queues", "/renewals", "/settings", "/breaks", "/names/a",
        "/names/b", "/queues/b", "/queues/.waiters"}) {
    paths.push_back(theirs().root() + part);
  }
  for (const std::string& trace : theirs().traces()) paths.push_back(theirs().root() + "/" + trace);
  EXPECT_EQ(paths.size(), 15U + 7U);
  for (const std::string& each : paths) {
    const std::vector<std::string> acl = theirs().raw().acl(each);
    ASSERT_EQ(acl.size(), 1U) << each;
    EXPECT_TRUE(acl.front().starts_with("digest:app:")) << each << " " << acl.front();
    EXPECT_TRUE(acl.front().ends_with(":31")) << each << " " << acl.front();
  }
}

TEST_F(Access, WithAnotherIdentityIsRefused) {
  Client mine(open_backend(url_as("app:open-sesame"), soon()).value());
  mine.take({write("a")});
  const std::string wrong =
      refused(url_as("app:guessed-wrong"), Errc::misconfigured, "guessed-wrong");
  EXPECT_TRUE(says(wrong, "password")) << wrong;
  refused(url_as("eve:open-sesame"), Errc::misconfigured, "open-sesame");
  const std::string none = refused(url_as(""), Errc::misconfigured);
  EXPECT_TRUE(says(none, "user")) << none;
  for (const char* const identity : {"app:guessed-wrong", ""}) {
    const Status made = init_space(url_as(identity), soon());
    ASSERT_FALSE(made);
    checked(made.error(), Errc::misconfigured, "guessed-wrong");
    const auto findings = examine_space(url_as(identity), soon());
    if (!findings) {
      checked(findings.error(), Errc::misconfigured, "guessed-wrong");
      continue;
    }
    bool unsafe = false;
    for (const Finding& finding : *findings) {
      EXPECT_FALSE(says(finding.text, "guessed-wrong"));
      unsafe = unsafe || finding.level == Finding::Level::unsafe;
    }
    EXPECT_TRUE(unsafe) << "doctor finds nothing wrong";
  }
}

// A client may begin to connect while no server listens. It keeps its user.
TEST_F(Access, IsShownAfterAConnectionThatWasRefused) {
  test::TcpProxy proxy(server().port());
  proxy.refuse();
  const std::string url = "zookeeper://app:open-sesame@127.0.0.1:" + std::to_string(proxy.port()) +
                          path() + "?connect_timeout=1m";
  const long before = refused_connections();
  std::vector<Result<std::unique_ptr<Backend>>> opened;
  for (int i = 0; i < 4; ++i) opened.emplace_back(Error{Errc::internal, "not asked"});
  {
    std::vector<std::jthread> opening;
    for (auto& one : opened) opening.emplace_back([&] { one = open_backend(url, soon()); });
    EXPECT_TRUE(eventually([&] { return refused_connections() >= before + 4; }));
    proxy.heal();
  }
  for (auto& one : opened) {
    ASSERT_TRUE(one) << one.error().message;
    Client mine(*std::move(one));
    EXPECT_TRUE(mine.release(mine.take({write("a")}).stamp));
  }
}

// No other user ends a hold by removing its nodes, or forges one.
TEST_F(Access, IsNotForPlainClients) {
  Client mine(open_backend(url_as("app:open-sesame"), soon()).value());
  const Stamp stamp = mine.take({write("a")}).stamp;
  constexpr int no_auth = -102;  // ZNOAUTH
  for (const std::string& trace : theirs().traces()) {
    EXPECT_EQ(raw().remove(theirs().root() + "/" + trace), no_auth) << trace;
  }
  EXPECT_EQ(raw().create(theirs().root() + "/names/a/r-forged", ""), no_auth);
  EXPECT_EQ(raw().set(theirs().root() + "/config", ""), no_auth);
  EXPECT_TRUE(mine.is_live(stamp));
}

// A space that was made without a user is open to everybody, with a user or without.
TEST_F(Access, ToAnOpenSpaceWorksForUsersToo) {
  Client plain = client();
  Client named(open_backend("zookeeper://app:open-sesame@" + url().substr(12), soon()).value(),
               "named");
  const Stamp stamp = plain.take({write("a")}).stamp;
  EXPECT_EQ(named.meet_busy({write("a")}).holder, stamp);
  EXPECT_TRUE(plain.release(stamp));
  EXPECT_TRUE(named.release(named.take({write("a")}).stamp));
}

TEST_F(Access, PathsAreMadeByInit) {
  const std::string below = url_as("app:open-sesame") + "/jobs/nightly?space=s1";
  const std::string message = refused(below, Errc::misconfigured, "open-sesame");
  EXPECT_TRUE(says(message, "lockset init")) << message;
  EXPECT_TRUE(says(message, "/jobs/nightly")) << message;
  EXPECT_FALSE(theirs().raw().get(path() + "/jobs")) << "made by opening";
  init_space(below, soon()).value();
  init_space(below, soon()).value();  // harmless to repeat
  Client mine(open_backend(below, soon()).value());
  mine.take({write("a")});
  EXPECT_EQ(SpaceView(hosts(), path() + "/jobs/nightly/s1", "app:open-sesame").traces().size(), 2U);
}

// SEM 1
TEST_F(Access, TwoPathsAreTwoSpaces) {
  const std::string one = url_as("app:open-sesame") + "/one";
  const std::string two = url_as("app:open-sesame") + "/two";
  init_space(one, soon()).value();
  init_space(two, soon()).value();
  Client first(open_backend(one, soon()).value());
  Client second(open_backend(two, soon()).value());
  const Stamp stamp = first.take({write("a")}).stamp;
  second.take({write("a")});
  first.set_permits("a", Mode::read, 5);
  EXPECT_TRUE(second.config().permits.empty());
  EXPECT_FALSE(second.break_hold(stamp));
  EXPECT_TRUE(first.is_live(stamp));
}

}  // namespace
}  // namespace lockset::zookeeper_tests
