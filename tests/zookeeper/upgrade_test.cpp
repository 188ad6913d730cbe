// Spaces of the layout before generations: init upgrades them, programs refuse them.
#include "backends/zookeeper/records.h"
#include "tests/support/finding.h"
#include "tests/zookeeper/fixture.h"

namespace lockset::zookeeper_tests {
namespace {

class Upgrade : public ZookeeperTest {
 protected:
  // The space of version 1, instead of the one that SetUp made.
  void SetUp() override {
    ZookeeperTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    raw().remove_tree(space());
    for (const char* const part : {"", "/names", "/holds", "/queues", "/names/a", "/queues/a"}) {
      ASSERT_EQ(raw().create(space() + part, ""), 0);
    }
    zookeeper::StoredConfig stored;
    stored.base = 4'000'000'000'000'000;
    stored.config.version = 7;
    stored.config.permits["a"].read = 5;
    stored.config.epochs["app"] = 3;
    const std::string settings = settings_text(stored);
    const std::string text = to_text(stored) + settings.substr(settings.find('\n') + 1);
    ASSERT_EQ(raw().create(space() + "/config", text), 0);
  }
};

TEST_F(Upgrade, AnOlderSpaceIsRefusedUntilInitHasRun) {
  const std::string message = refused(url(), Errc::misconfigured);
  EXPECT_TRUE(says(message, "lockset init")) << message;
  const std::string found = test::finding(url(), "space");
  EXPECT_TRUE(found.starts_with("unsafe: ")) << found;
  EXPECT_TRUE(says(found, "lockset init")) << found;
}

TEST_F(Upgrade, InitKeepsWhatWasConfigured) {
  init_space(url(), soon()).value();
  Client mine = client("other");
  mine.reload();
  EXPECT_EQ(mine.config().permits_of("a").read, 5U);
  EXPECT_EQ(mine.config().epochs.at("app"), 3);
  EXPECT_GT(mine.config().version, 7);
  EXPECT_GT(mine.take({write("a")}).stamp.value, 4'000'000'000'000'000) << "stamps went back";
  EXPECT_TRUE(raw().children(space() + "/names").empty());
  EXPECT_FALSE(raw().get(space() + "/names")) << "left behind";
  EXPECT_FALSE(raw().get(space() + "/queues")) << "left behind";
  const std::string root = this->root();
  init_space(url(), soon()).value();  // harmless to repeat
  EXPECT_EQ(this->root(), root);
}

// SEM 20: its programs would not see the new ones' holds, nor the new ones theirs.
TEST_F(Upgrade, IsRefusedWhereAHoldLives) {
  const std::string hold = space() + "/holds/" + Token::random().hex();
  ASSERT_EQ(raw().create(hold, "lockset 1\n"), 0);
  const Status made = init_space(url(), soon());
  ASSERT_FALSE(made);
  const std::string message = checked(made.error(), Errc::misconfigured);
  EXPECT_TRUE(says(message, "end the programs")) << message;
  refused(url(), Errc::misconfigured);
  ASSERT_EQ(raw().remove(hold), 0);
  init_space(url(), soon()).value();
  client().take({write("a")});
}

// A program of version 1 that is open: the version of the node that it compares has changed, and it
// can't read the new content.
TEST_F(Upgrade, AnOlderProgramGrantsNothingAnyMore) {
  const std::int32_t before = raw().get(space() + "/config").value().version;
  init_space(url(), soon()).value();
  const auto head = raw().get(space() + "/config").value();
  EXPECT_NE(head.version, before);
  EXPECT_FALSE(zookeeper::config_from_version_1(head.data));
  EXPECT_FALSE(raw().get(space() + "/holds"));
}

// The layout before shares: its nodes are as today's, only a number is missing. Programs of today
// refuse it, and those of before can't read the number (an unknown line of the configuration).
TEST_F(ZookeeperTest, ASpaceOfBeforeSharesIsUpgraded) {
  Client before = client("before");
  const Stamp stamp = before.take({write("a")}).stamp;
  const std::string config = root() + "/config";
  std::string text = raw().get(config).value().data;
  const std::string line = "layout=3\n";
  ASSERT_NE(text.find(line), std::string::npos);
  text.erase(text.find(line), line.size());
  ASSERT_EQ(raw().set(config, text), 0);
  const std::string message = refused(url(), Errc::misconfigured);
  EXPECT_TRUE(says(message, "lockset init")) << message;
  EXPECT_TRUE(says(test::finding(url(), "space"), "lockset init"));
  const std::int32_t version = raw().get(config).value().version;
  init_space(url(), soon()).value();
  EXPECT_EQ(raw().get(config).value().version, version + 1);
  EXPECT_NE(raw().get(config).value().data.find(line), std::string::npos);
  // What is held stays.
  Client mine = client();
  EXPECT_EQ(mine.meet_busy({write("a")}).holder, stamp);
  EXPECT_TRUE(before.release(stamp));
  EXPECT_GT(mine.take({write("a")}).stamp, stamp);
  init_space(url(), soon()).value();  // harmless to repeat
  EXPECT_EQ(raw().get(config).value().version, version + 1);
}

// A space that was made only in part, or wiped only in part.
TEST_F(Upgrade, InitMakesAPartOfASpaceWhole) {
  init_space(url(), soon()).value();
  raw().remove_tree(root());
  refused(url(), Errc::misconfigured);
  init_space(url(), soon()).value();
  client().take({write("a")});
}

}  // namespace
}  // namespace lockset::zookeeper_tests
