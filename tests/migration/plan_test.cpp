// What plan finds before anything is begun.
#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>

#include "lockset/forwarding_backend.h"
#include "tests/migration/stores.h"

namespace lockset::migration_tests {
namespace {

using Level = Finding::Level;
using ::testing::HasSubstr;

class Plan : public Stores {
 protected:
  std::vector<Finding> findings(Migration one) {
    Result<std::vector<Finding>> found = one.plan(soon());
    EXPECT_TRUE(found.ok()) << found.error().message;
    return found.ok() ? *std::move(found) : std::vector<Finding>{};
  }
  static std::vector<std::string> texts(const std::vector<Finding>& found, Level level,
                                        std::string_view subject) {
    std::vector<std::string> result;
    for (const Finding& each : found) {
      if (each.level == level && each.subject == subject) result.push_back(each.text);
    }
    return result;
  }
};

bool all_good(const std::vector<Finding>& found) {
  return std::ranges::all_of(found, [](const Finding& each) { return each.level == Level::good; });
}

TEST_F(Plan, NothingToSayOfTwoFitSpaces) {
  const std::vector<Finding> found = findings(migration());
  EXPECT_TRUE(all_good(found));
  EXPECT_TRUE(old_client()->inspect({}, soon()).value().holds.empty());
  EXPECT_TRUE(new_client()->inspect({}, soon()).value().holds.empty());
  EXPECT_EQ(config(old_store), SpaceConfig{});
  EXPECT_EQ(config(new_store), SpaceConfig{});
}

TEST_F(Plan, WhatStartWouldRefuse) {
  ASSERT_TRUE(old_client()->change_config(SetPermits{"db", Mode::read, 5}, soon()).ok());
  ASSERT_TRUE(old_client()->change_config(SetMaxLease{1h}, soon()).ok());
  (void)take(new_store, "theirs", "");
  const std::vector<Finding> found = findings(migration());
  EXPECT_EQ(texts(found, Level::unsafe, "permits").size(), 1U);
  EXPECT_EQ(texts(found, Level::unsafe, "longest lease").size(), 1U);
  EXPECT_THAT(texts(found, Level::unsafe, "new space"),
              ::testing::ElementsAre(HasSubstr("ann@host:7 job")));
}

TEST_F(Plan, ManyPermitsAreCounted) {
  for (int i = 0; i < 30; ++i) {
    ASSERT_TRUE(old_client()
                    ->change_config(SetPermits{"n" + std::to_string(i), Mode::read, 5}, soon())
                    .ok());
  }
  const std::vector<std::string> lines = texts(findings(migration()), Level::unsafe, "permits");
  ASSERT_EQ(lines.size(), 21U);
  EXPECT_THAT(lines.back(), HasSubstr("and 10 more"));
}

TEST_F(Plan, TwoAddressesOfOneSpace) {
  new_store = old_store;
  EXPECT_EQ(texts(findings(migration()), Level::unsafe, "addresses").size(), 1U);
}

// A store that folds case, ignores trailing blanks, and takes only shorter names.
class Sloppy final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    std::vector<LockRequest> items(request.set->items().begin(), request.set->items().end());
    for (LockRequest& item : items) {
      if (item.name.size() > 200) return Error{Errc::invalid, "too long for me"};
      std::ranges::transform(item.name, item.name.begin(),
                             [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      while (item.name.ends_with(' ')) item.name.pop_back();
    }
    const LockSet set = LockSet::make(std::move(items), LockSet::Names::reserved_too).value();
    AcquireRequest folded = request;
    folded.set = &set;
    return ForwardingBackend::try_acquire(folded);
  }
};

TEST_F(Plan, NamesThatOneStoreTakesForEqual) {
  const std::vector<Finding> found =
      findings({std::make_unique<Sloppy>(old_client()), new_client(), clock});
  EXPECT_THAT(texts(found, Level::unsafe, "names"),
              ::testing::ElementsAre(HasSubstr("the old store takes names for equal that differ by "
                                               "upper and lower case"),
                                     HasSubstr("trailing blank"),
                                     HasSubstr("the old store refuses a name of 255 bytes: ")));
}

// A store with fewer traits, no right to change its configuration, and its own clock.
class Poor final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  [[nodiscard]] Traits traits() const override { return {}; }
  Result<SpaceConfig> change_config(const ConfigChange&, TimePoint) override {
    return Error{Errc::misconfigured, "permission denied"};
  }
  Result<Inspection> inspect(const InspectQuery& query, TimePoint by) override {
    Result<Inspection> seen = ForwardingBackend::inspect(query, by);
    for (HoldInfo& hold : seen->holds) hold.since -= 1h;
    return seen;
  }
};

TEST_F(Plan, WhatTheNewStoreLacks) {
  (void)take(old_store, "kept", "", 30s, true);
  const std::vector<Finding> found =
      findings({old_client(), std::make_unique<Poor>(new_client()), clock});
  EXPECT_EQ(texts(found, Level::warning, "lease = none").size(), 2U);  // the trait, and the hold
  EXPECT_EQ(texts(found, Level::warning, "floors").size(), 1U);
  EXPECT_EQ(texts(found, Level::warning, "waking").size(), 1U);
  EXPECT_THAT(texts(found, Level::unsafe, "rights in the new store"),
              ::testing::ElementsAre(HasSubstr("permission denied")));
  EXPECT_THAT(texts(found, Level::warning, "clock of the new store"),
              ::testing::ElementsAre(HasSubstr("behind this machine's")));
  EXPECT_EQ(texts(found, Level::good, "clock of the old store").size(), 1U);
}

TEST_F(Plan, StampsThatWillBeRaised) {
  ASSERT_TRUE(
      old_client()->change_config(RaiseStampBase{Stamp{1'000'000'000'000'000'000}}, soon()).ok());
  EXPECT_THAT(texts(findings(migration()), Level::good, "stamps"),
              ::testing::ElementsAre(HasSubstr("are raised above the old ones")));
}

TEST_F(Plan, InTheMiddleItSaysThePhase) {
  go_to(MigrationPhase::dual_old);
  (void)take(new_store, "b", "+2.17");
  const std::vector<Finding> found = findings(migration());
  EXPECT_TRUE(all_good(found));
  EXPECT_THAT(texts(found, Level::good, "phase"), ::testing::ElementsAre("dual-old"));
}

}  // namespace
}  // namespace lockset::migration_tests
