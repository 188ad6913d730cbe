// SEM 7, 12: one node has the configuration, with the epochs of applications, and several clients
// change it at the same time.
#include <atomic>
#include <string>
#include <vector>

#include "tests/zookeeper/fixture.h"

namespace lockset::zookeeper_tests {
namespace {

class Config : public ZookeeperTest {};

TEST_F(Config, ChangesBesideAReclaimKeepItsEpoch) {
  constexpr std::size_t apps = 40;
  const std::shared_ptr<Backend> backend = open();
  std::vector<Stamp> epochs;
  for (std::size_t i = 0; i < apps; ++i) {
    const std::string app = "app" + std::to_string(i);
    epochs.push_back(Client(backend, app).take({write("@app:" + app)}).stamp);
  }
  std::atomic<bool> done = false;
  test::run_threads(2, [&](std::size_t thread) {
    if (thread == 0) {
      for (std::size_t i = 0; i < apps; ++i) {
        EXPECT_TRUE(backend->reclaim("app" + std::to_string(i), epochs[i].value, soon()));
      }
      done = true;
      return;
    }
    Client operators = client();
    for (std::uint32_t permits = 1; !done; ++permits) {
      operators.set_permits("a", Mode::read, permits % 100 + 1);
    }
  });
  EXPECT_EQ(client().config().epochs.size(), apps);
}

// SEM 8: the base that zxids are added to is behind the clock, but not so far that a grant is given
// back
TEST_F(Config, ABaseBehindTheClockIsRaised) {
  const std::string path = root() + "/config";
  std::string text = raw().get(path).value().data;
  const std::size_t at = text.find("base=") + 5;
  const std::size_t end = text.find('\n', at);
  const std::int64_t base = std::stoll(text.substr(at, end - at));
  text.replace(at, end - at, std::to_string(base - 60'000'000));
  ASSERT_EQ(raw().set(path, text), 0);
  const Grant grant = client().take({write("a")});
  EXPECT_GE(grant.stamp.value, grant.store_time_us - 30'000'000);
}

}  // namespace
}  // namespace lockset::zookeeper_tests
