#include "lockset/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockset {
namespace {

using ::testing::HasSubstr;

TEST(Registry, NamesTheKnownSchemesForAnUnknownOne) {
  const auto backend = open_backend("oracle://u:secret@h/x", BootClock::now());
  ASSERT_FALSE(backend);
  EXPECT_EQ(backend.error().code, Errc::invalid);
  EXPECT_THAT(backend.error().message, HasSubstr("unknown scheme \"oracle:\""));
  EXPECT_THAT(backend.error().message, HasSubstr("memory:"));
  EXPECT_THAT(backend.error().message, ::testing::Not(HasSubstr("secret")));
}

TEST(Registry, HintsAtTheNameOfAStoreThatIsCalledOtherwiseHere) {
  for (const Scheme& scheme : builtin_schemes()) {
    if (scheme.name != "postgresql") continue;
    EXPECT_THAT(open_backend("psql://a@b/c", BootClock::now()).error().message,
                HasSubstr("write postgresql:"));
  }
  EXPECT_THAT(open_backend("oracle://a@b/c", BootClock::now()).error().message,
              ::testing::Not(HasSubstr("write")));
}

TEST(Registry, MemoryTakesNothingBehindTheColon) {
  EXPECT_TRUE(open_backend("memory:", BootClock::now()));
  EXPECT_EQ(open_backend("memory:name", BootClock::now()).error().code, Errc::invalid);
  EXPECT_TRUE(init_space("memory:", BootClock::now()));
}

TEST(Registry, SaysThatThereIsNoScript) {
  const Result<std::string> script = init_script("memory:");
  ASSERT_FALSE(script);
  EXPECT_EQ(script.error().code, Errc::unsupported);
  EXPECT_EQ(init_script("oracle:x").error().code, Errc::invalid);
}

TEST(Registry, SaysThatAStoreKnowsNoAccounts) {
  for (const Role role : {Role::programs, Role::operators}) {
    const Result<std::string> script = rights_script("memory:", role, "app");
    ASSERT_FALSE(script);
    EXPECT_EQ(script.error().code, Errc::unsupported);
    EXPECT_EQ(allow("memory:", role, "app", BootClock::now()).error().code, Errc::unsupported);
    EXPECT_EQ(allow("oracle:x", role, "app", BootClock::now()).error().code, Errc::invalid);
  }
}

TEST(Registry, MemoryIsForTests) {
  const auto findings = examine_space("memory:", BootClock::now()).value();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].level, Finding::Level::warning);
  EXPECT_THAT(findings[0].text, HasSubstr("for tests"));
  EXPECT_EQ(examine_space("memory:name", BootClock::now()).error().code, Errc::invalid);
  EXPECT_EQ(examine_space("oracle:x", BootClock::now()).error().code, Errc::invalid);
}

TEST(Registry, EachExampleHasItsOwnScheme) {
  for (const Scheme& scheme : builtin_schemes()) {
    EXPECT_EQ(Url::parse(scheme.example).value().scheme, scheme.name);
  }
}

}  // namespace
}  // namespace lockset
