#include "lockset/url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockset {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Url, TakesAddressesApart) {
  const Url url =
      Url::parse("PostgreSQL://me%40x:p%2Fw@h1:1,h2:2/db%20one?strategy=advisory&a=b%26c").value();
  EXPECT_EQ(url.scheme, "postgresql");
  EXPECT_TRUE(url.has_authority);
  EXPECT_EQ(url.user, "me@x");
  EXPECT_EQ(url.password, "p/w");
  EXPECT_EQ(url.hosts, "h1:1,h2:2");
  EXPECT_EQ(url.path, "/db one");
  EXPECT_EQ(url.params.at("strategy"), "advisory");
  EXPECT_EQ(url.params.at("a"), "b&c");
}

TEST(Url, TakesPathsApart) {
  EXPECT_EQ(Url::parse("sqlite:").value().path, "");
  EXPECT_EQ(Url::parse("sqlite:locks.db").value().path, "locks.db");
  EXPECT_EQ(Url::parse("sqlite:/var/x.db?synchronous=normal").value().path, "/var/x.db");
  EXPECT_EQ(Url::parse("sqlite:///var/x.db").value().path, "/var/x.db");
  EXPECT_EQ(Url::parse("sqlite:%41%2f").value().path, "A/");
}

TEST(Url, RefusesWhatItCannotRead) {
  for (const char* text : {"", "/var/x.db", "no scheme:x", ":x", "sqlite:%4", "sqlite:%zz",
                           "sqlite:x?a", "sqlite:x?=1", "sqlite:x?a=1&a=2", "h://u:%@h/"}) {
    const Result<Url> url = Url::parse(text);
    ASSERT_FALSE(url) << text;
    EXPECT_EQ(url.error().code, Errc::invalid) << text;
  }
}

// An address may be a part of a text: what follows it is not read.
TEST(Url, ACodeThatEndsWithTheAddressIsCutShort) {
  constexpr std::string_view text = "sqlite:%41";
  EXPECT_TRUE(Url::parse(text));
  EXPECT_FALSE(Url::parse(text.substr(0, text.size() - 1)));
  EXPECT_FALSE(Url::parse(text.substr(0, text.size() - 2)));
}

TEST(Url, NeverShowsSecrets) {
  EXPECT_EQ(redact_url("mysql://app:hunter2@db/x"), "mysql://app:***@db/x");
  EXPECT_EQ(redact_url("mysql://app:hun@ter2@db/x"), "mysql://app:***@db/x");
  EXPECT_EQ(redact_url("redis://:hunter2@db"), "redis://:***@db");
  // Two addresses in one, each with its own escapes.
  EXPECT_EQ(redact_url("migrate:?from=mysql%3A%2F%2Fa%3Ahunter2%40db%2Fx&to=sqlite%3A%2Ff"),
            "migrate:?from=mysql://a:***@db/x&to=sqlite:/f");
  EXPECT_EQ(redact_url("migrate:?from=mysql://a:hunter2@db/x?password=hunter2&to=sqlite:/f"),
            "migrate:?from=mysql://a:***@db/x?password=***&to=sqlite:/f");
  EXPECT_EQ(redact_url("Migrate:?from=mysql://a:x&hunter2@db/x&to=sqlite:/f").find("hunter2"),
            std::string::npos);
  EXPECT_EQ(redact_url("migrate:?from=mysql://a:%hunter2@db/x").find("hunter2"), std::string::npos);
  EXPECT_EQ(redact_url("x://h/?sslpassword=hunter2&a=1"), "x://h/?sslpassword=***&a=1");
  EXPECT_EQ(redact_url("mysql://app@db/x"), "mysql://app@db/x");
  EXPECT_EQ(redact_url("zookeeper://h1:1,h2:2/c"), "zookeeper://h1:1,h2:2/c");
  EXPECT_EQ(redact_url("mysql://[::1]:3306/x?label=me@there"),
            "mysql://[::1]:3306/x?label=me@there");
  EXPECT_EQ(redact_url("zookeeper://h1:1,h2:2/c?label=me@there"),
            "zookeeper://h1:1,h2:2/c?label=me@there");
  EXPECT_EQ(redact_url("sqlite:/srv/a:b@c.db"), "sqlite:/srv/a:b@c.db");
  EXPECT_EQ(redact_url("x://h/?pass%77ord=hunter2&Pass=hunter2&pwd=hunter2"),
            "x://h/?pass%77ord=***&Pass=***&pwd=***");
  EXPECT_EQ(redact_url("x://h/?password_file=/run/secret&passfile=/a"),
            "x://h/?password_file=/run/secret&passfile=/a");
  EXPECT_THAT(Url::parse("mysql://app:hunter2@db/x?a=%").error().message,
              Not(HasSubstr("hunter2")));
}

// Typical mistakes: characters that were not escaped, or parts that were left out.
TEST(Url, ShowsNoPartOfAMistypedSecret) {
  for (const char* text :
       {"mysql://app:hunter2@db/x", "mysql://app:hun/ter2@db/x", "mysql://app:hun?ter2@db/x",
        "mysql://app:hun?t=er2@db/x?a=b", "mysql://app:hunter2/@db/x", "mysql://app:1?hunter2@db/x",
        "mysql://app:hun:ter2@db/x", "mysql://app:hun#ter2@db/x", "mysql:/app:hunter2@db/x",
        "mysql:app:hunter2@db/x", "app:hunter2@db/x", "//app:hunter2@db/x",
        "mysql//app:hunter2@db/x", "mysql://:hunter2@db", "mysql://app:hunter2@[::1]:3306/x"}) {
    EXPECT_THAT(redact_url(text), Not(HasSubstr("ter2"))) << text;
    const Result<Url> url = Url::parse(text);
    EXPECT_THAT(url ? "" : url.error().message, Not(HasSubstr("ter2"))) << text;
  }
  EXPECT_THAT(Url::parse("mysql://app:hun/ter2@db/x").error().message, HasSubstr("%2F"));
  EXPECT_THAT(Url::parse("mysql://app:hun?ter2@db/x").error().message, HasSubstr("%3F"));
}

}  // namespace
}  // namespace lockset
