// The limits of a server, and what a job must not inherit.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/support/finding.h"
#include "tests/support/requirement.h"
#include "tests/support/without_threads.h"
#include "tests/zookeeper/fixture.h"
#include "tests/zookeeper/four_letters.h"

namespace lockset::zookeeper_tests {
namespace {

// The descriptors of this process that a program started by it would inherit, besides the three
// that it is meant to have.
std::set<int> inherited() {
  std::set<int> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fdinfo")) {
    std::ifstream info(entry.path());
    for (std::string line; std::getline(info, line);) {
      if (!line.starts_with("flags:")) continue;
      const unsigned long flags = std::strtoul(line.c_str() + 6, nullptr, 8);
      const int fd = std::stoi(entry.path().filename());
      if (fd > 2 && (flags & 02000000U) == 0) found.insert(fd);
    }
  }
  return found;
}

class Limits : public ZookeeperTest {
 protected:
  // Inherited now, but not before.
  static std::vector<int> leaked(const std::set<int>& before) {
    const std::set<int> now = inherited();
    std::vector<int> leaked;
    std::set_difference(now.begin(), now.end(), before.begin(), before.end(),
                        std::back_inserter(leaked));
    return leaked;
  }
  static std::string described(const std::vector<int>& descriptors) {
    std::string text;
    for (const int one : descriptors) {
      const std::string number = std::to_string(one);
      std::error_code error;
      const auto target = std::filesystem::read_symlink("/proc/self/fd/" + number, error);
      text += number + ": " + target.string() + "\n";
    }
    return text;
  }
};

// Errors are values, including this one.
TEST_F(Limits, NoThreadIsToBeHad) {
  EXPECT_TRUE(test::succeeds_without_threads([&](const auto& limit) {
    Client mine = client();
    Locks locks = lockset::open(url()).value();
    limit();
    const auto asked = mine.ask_once({write("a")});
    const auto tried = locks.try_acquire({write("b")});
    const auto opened = open_backend(url(), soon());
    return !asked && asked.error().code == Errc::unavailable && !tried.ok() &&
           tried.error().code == Errc::unavailable && !opened &&
           opened.error().code == Errc::unavailable;
  }));
}

// SEM 16: a session must not live on in a job that outlives its lock
TEST_F(Limits, NoSocketOrPipeIsInherited) {
  // The test's own connection would return with another number.
  close_view();
  const std::set<int> before = inherited();
  Client mine = client();
  // Short: a client that connects while the server starts may get no answer for two thirds of its
  // session.
  const Stamp stamp = mine.take({write("a")}, {.lease = 5s}).stamp;
  Client other = client("other");
  other.meet_busy({write("a")}, {.will_wait = true});
  EXPECT_EQ(leaked(before), std::vector<int>());
  // Nor after it has reconnected.
  server().kill();
  server().start();
  EXPECT_TRUE(eventually([&] { return mine.backend().release(stamp, "app", soon()).ok(); }));
  other.take({write("b")}, {.lease = 5s});
  // A session that is not needed at the moment may still be connecting, and only a connected socket
  // can be found.
  EXPECT_TRUE(eventually([&] { return leaked(before).empty(); })) << described(leaked(before));
}

// A server turns away clients beyond its limit per host.
TEST_F(Limits, TooManyConnectionsAreALineAndPass) {
  test::PrivateServer small("zookeeper", {"maxClientCnxns=3"});
  const std::string address = small.admin_url() + "?space=small";
  init_space(address, soon()).value();
  auto first = std::make_unique<Client>(open_backend(address, soon()).value(), "first");
  const Stamp stamp = first->take({write("a")}).stamp;  // the second connection
  Client second(open_backend(address, soon()).value(), "second");
  const test::Stopwatch watch;
  const auto outcome = second.ask_once({write("b")}, {.by = watch.began() + 2s});
  ASSERT_FALSE(outcome) << test::describe(outcome);
  const std::string message = checked(outcome.error(), Errc::unavailable);
  EXPECT_TRUE(says(message, "maxClientCnxns")) << message;
  EXPECT_LT(watch.elapsed(), 2s + 2s);
  const auto third = open_backend(address, BootClock::now() + 2s);
  ASSERT_FALSE(third);
  EXPECT_TRUE(says(checked(third.error(), Errc::unavailable), "maxClientCnxns"));
  // Existing connections are not disturbed; and there is room when one of them ends.
  EXPECT_TRUE(first->renew(stamp, 1min));
  EXPECT_TRUE(first->release(stamp));
  first.reset();
  EXPECT_TRUE(eventually([&] { return second.ask({write("b")}).ok(); }, long_time));
}

// A single server that starts does not answer clients that connect too early.
TEST_F(Limits, DoctorTellsAStandaloneServerFromAnEnsemble) {
  const std::string warned = test::finding(url(), "servers");
  EXPECT_TRUE(warned.starts_with("warning: a standalone one")) << warned;
  const std::string several = ensemble().admin_url() + "?space=several";
  init_space(several, soon()).value();
  const std::string good = test::finding(several, "servers");
  EXPECT_TRUE(good.starts_with("good: ")) << good;
}

}  // namespace
}  // namespace lockset::zookeeper_tests
