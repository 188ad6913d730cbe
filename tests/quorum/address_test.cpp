// "quorum:?of=...&of=...&of=...", and what is refused.
#include "backends/quorum/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lockset/registry.h"
#include "tests/support/wait.h"

namespace lockset::quorum {
namespace {

Error refusal(const std::vector<std::string>& of) {
  const Result<Addresses> parsed = addresses_of(Url::parse(quorum_url(of)).value());
  if (parsed) return {Errc::internal, "accepted"};
  return parsed.error();
}

TEST(QuorumAddress, NamesItsNodes) {
  const std::vector<std::string> of{"redis://:pw@a/x?space=1", "sqlite:/b&c.db",
                                    "postgresql://c/d"};
  const Result<Addresses> parsed = addresses_of(Url::parse(quorum_url(of)).value());
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->of, of);
}

TEST(QuorumAddress, RefusesWhatIsNoQuorum) {
  const std::string one = "sqlite:/1.db";
  const std::string two = "sqlite:/2.db";
  const std::string three = "sqlite:/3.db";
  const auto expect = [](const std::vector<std::string>& of, const char* why) {
    const Error error = refusal(of);
    EXPECT_EQ(error.code, Errc::invalid) << why;
    EXPECT_THAT(error.message, testing::HasSubstr(why));
    EXPECT_EQ(error.message.find('\n'), std::string::npos);
  };
  expect({one}, "names 1 lock space,");
  expect({one, two}, "names 2 lock spaces,");
  expect({one, two, three, "sqlite:/4.db"}, "names 4 lock spaces,");
  std::vector<std::string> many;
  for (int i = 0; i < 11; ++i) many.push_back("sqlite:/" + std::to_string(i));
  expect(many, "names 11 lock spaces,");
  expect({one, two, one}, "of number 3 was named before");
  expect({one, two, "memory:"}, "of number 3 is memory:");
  expect({one, two, quorum_url({one, two, three})}, "of number 3 is itself a quorum");
  expect({one, two, "migrate:?from=a%3A&to=b%3A"}, "of number 3 is a migration");
  expect({one, two, "zookeeper://h/x"}, "of number 3 is ZooKeeper");
  const auto parameter = addresses_of(Url::parse("quorum:?of=sqlite%3A1&x=y").value());
  ASSERT_FALSE(parameter);
  EXPECT_THAT(parameter.error().message, testing::HasSubstr("a parameter beside of"));
  EXPECT_FALSE(addresses_of(Url::parse("quorum://host/path").value()));
}

TEST(QuorumAddress, ShowsNoSecret) {
  const std::string url = quorum_url({"redis://:secret@a/", "redis://me:secret@b/", "redis://c/"});
  EXPECT_THAT(Url::parse(url)->redacted(), testing::Not(testing::HasSubstr("secret")));
  EXPECT_THAT(redact_url("quorum:?of=redis://:sec?ret@a/&of=x"),
              testing::Not(testing::HasSubstr("ret@")));
  EXPECT_EQ(node_name(1, "redis://me:secret@b/"), "node 2 (redis://me:***@b/)");
}

// Nobody listens there: a message names the node, and not its password.
TEST(QuorumAddress, AnUnreachableMajorityIsNamed) {
  const std::string url =
      quorum_url({"redis://:secret@127.0.0.1:1/", "redis://:secret@127.0.0.1:2/",
                  "redis://:secret@127.0.0.1:3/"});
  for (const Scheme& scheme : builtin_schemes()) {
    if (scheme.name != "redis") continue;
    const auto opened = open_backend(url, test::soon());
    ASSERT_FALSE(opened);
    EXPECT_THAT(opened.error().message, testing::HasSubstr("node 1 (redis://:***@127.0.0.1:1/)"));
    EXPECT_THAT(opened.error().message, testing::Not(testing::HasSubstr("secret")));
    const Status made = init_space(url, test::soon());
    ASSERT_FALSE(made);
    EXPECT_THAT(made.error().message, testing::HasSubstr("node 1 ("));
    EXPECT_THAT(made.error().message, testing::Not(testing::HasSubstr("secret")));
  }
}

}  // namespace
}  // namespace lockset::quorum
