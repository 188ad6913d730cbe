// SEM 17: inspection and breaking.
#include "tests/conformance/suite.h"

namespace lockset::conformance {
namespace {

using Match = InspectQuery::Match;

class InspectionTest : public Conformance {};

TEST_P(InspectionTest, AnEmptySpaceShowsNothing) {
  const Inspection all = client().inspect();
  EXPECT_TRUE(all.holds.empty());
  EXPECT_TRUE(all.waiters.empty());
}

// SEM 17: owner, names, modes, stamp and label, since when and until when
TEST_P(InspectionTest, ShowsAllOfAHold) {
  Client c(backend(), "the app", 17);
  c.set_label("carl@example:42 backup \"a b\" 100%");
  const auto before = std::chrono::system_clock::now();
  const Grant grant = c.take({write("b"), read("a")}, {.lease = 30s});
  const std::vector<HoldInfo> holds = client().holds();
  ASSERT_EQ(holds.size(), 1U);
  EXPECT_EQ(holds[0].stamp, grant.stamp);
  EXPECT_EQ(holds[0].items, (Wanted{read("a"), write("b")}));
  EXPECT_EQ(holds[0].owner.app, "the app");
  EXPECT_EQ(holds[0].owner.instance, c.owner().instance);
  EXPECT_EQ(holds[0].owner.epoch, 17);
  EXPECT_EQ(holds[0].owner.label, "carl@example:42 backup \"a b\" 100%");
  EXPECT_GE(holds[0].since, before - 1min);
  EXPECT_LE(holds[0].since, std::chrono::system_clock::now() + 1min);
  ASSERT_TRUE(holds[0].remaining);
  EXPECT_LE(*holds[0].remaining, 30s + clock_grain);
  EXPECT_GT(*holds[0].remaining, 15s);
}

// SEM 17: by ascending stamp
TEST_P(InspectionTest, IsOrderedByStamp) {
  Client c = client();
  std::vector<Stamp> stamps;
  for (const char* name : {"z", "m", "a", "q", "b"}) stamps.push_back(c.take({write(name)}).stamp);
  std::vector<Stamp> shown;
  for (const HoldInfo& hold : c.holds()) shown.push_back(hold.stamp);
  EXPECT_EQ(shown, stamps);
}

// SEM 17: by name, exactly, each hold with its whole set
TEST_P(InspectionTest, ByName) {
  Client c = client();
  const Grant one = c.take({write("job"), read("x")});
  c.take({write("job1")});
  c.take({write("Job")});
  c.take({write("jo")});
  const std::vector<HoldInfo> holds = c.inspect({Match::name, "job"}).holds;
  ASSERT_EQ(holds.size(), 1U);
  EXPECT_EQ(holds[0].stamp, one.stamp);
  EXPECT_EQ(holds[0].items, (Wanted{write("job"), read("x")}));
  EXPECT_TRUE(c.inspect({Match::name, "nobody"}).holds.empty());
}

// SEM 17: by prefix, byte for byte: no pattern characters, no case folding
TEST_P(InspectionTest, ByPrefix) {
  Client c = client();
  for (const char* name : {"a%b", "a_b", "a*b", "axb", "A%b", "a%", "a[b]", "a\\b"}) {
    c.take({write(name)});
  }
  const Grant mixed = c.take({write("zz"), write("a%z")});
  const auto count = [&](const std::string& text) {
    return c.inspect({Match::prefix, text}).holds.size();
  };
  EXPECT_EQ(count("a%"), 3U);
  EXPECT_EQ(count("a_"), 1U);
  EXPECT_EQ(count("a*"), 1U);
  EXPECT_EQ(count("a["), 1U);
  EXPECT_EQ(count("a\\"), 1U);
  EXPECT_EQ(count("A"), 1U);
  EXPECT_EQ(count("a"), 8U);
  EXPECT_EQ(count(""), 9U);
  EXPECT_EQ(count("b"), 0U);
  const std::vector<HoldInfo> holds = c.inspect({Match::prefix, "zz"}).holds;
  ASSERT_EQ(holds.size(), 1U);
  EXPECT_EQ(holds[0].items, (Wanted{write("a%z"), write("zz")}));
  EXPECT_EQ(holds[0].stamp, mixed.stamp);
}

// SEM 17: prefixes that end at the edges of the byte range
TEST_P(InspectionTest, ByPrefixOfTheHighestBytes) {
  Client c = client();
  const std::string highest = "\xF4\x8F\xBF\xBF";  // U+10FFFF
  c.take({write(highest + "a")});
  c.take({write(highest + highest)});
  c.take({write("\xF3\xB0\x80\x80")});
  EXPECT_EQ(c.inspect({Match::prefix, highest}).holds.size(), 2U);
}

// SEM 17: a consistent snapshot of many holds
TEST_P(InspectionTest, ShowsManyHolds) {
  Client c = client();
  for (int i = 0; i < 500; ++i)
    c.take({write("n" + std::to_string(i)), read("m" + std::to_string(i))});
  const std::vector<HoldInfo> holds = c.holds();
  ASSERT_EQ(holds.size(), 500U);
  for (const HoldInfo& hold : holds) EXPECT_EQ(hold.items.size(), 2U);
}

// SEM 17: inspection decides nothing and changes nothing
TEST_P(InspectionTest, ChangesNothing) {
  Client c = client();
  const Grant grant = c.take({write("a")});
  const std::int64_t version = c.config().version;
  for (int i = 0; i < 5; ++i) c.inspect();
  c.reload();
  EXPECT_EQ(c.config().version, version);
  EXPECT_TRUE(c.release(grant.stamp));
}

// SEM 17: breaking names the stamp, for a hold of any owner
TEST_P(InspectionTest, BreakingEndsTheHoldWhoeverOwnsIt) {
  Client owner = client("owner");
  const Grant one = owner.take({write("a"), write("b")});
  const Grant two = owner.take({write("c")});
  Client admin(open(), "admin");
  EXPECT_TRUE(admin.break_hold(one.stamp));
  EXPECT_FALSE(owner.is_live(one.stamp));
  EXPECT_TRUE(owner.is_live(two.stamp));
  EXPECT_TRUE(admin.take({write("a"), write("b")}).stamp);
  EXPECT_FALSE(owner.renew(one.stamp, 1min));
  EXPECT_FALSE(owner.release(one.stamp));
}

// SEM 17: "so that it can't hit the next holder"
TEST_P(InspectionTest, BreakingDoesNotHitTheNextHolder) {
  Client c = client();
  const Grant old = c.take({write("a")});
  ASSERT_TRUE(c.release(old.stamp));
  const Grant next = c.take({write("a")});
  EXPECT_FALSE(c.break_hold(old.stamp));
  EXPECT_FALSE(c.break_hold({next.stamp.value + 1}));
  EXPECT_FALSE(c.break_hold({0}));
  EXPECT_TRUE(c.is_live(next.stamp));
  EXPECT_TRUE(c.break_hold(next.stamp));
  EXPECT_FALSE(c.break_hold(next.stamp)) << "once";
}

LOCKSET_CONFORMANCE_SUITE(InspectionTest);

}  // namespace
}  // namespace lockset::conformance
