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

TEST(Registry, MemoryTakesNothingBehindTheColon) {
  EXPECT_TRUE(open_backend("memory:", BootClock::now()));
  EXPECT_EQ(open_backend("memory:name", BootClock::now()).error().code, Errc::invalid);
  EXPECT_TRUE(init_space("memory:", BootClock::now()));
}

TEST(Registry, EachExampleHasItsOwnScheme) {
  for (const Scheme& scheme : builtin_schemes()) {
    EXPECT_EQ(Url::parse(scheme.example).value().scheme, scheme.name);
  }
}

}  // namespace
}  // namespace lockset
