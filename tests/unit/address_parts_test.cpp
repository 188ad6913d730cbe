#include "backends/server/address_parts.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

namespace lockset::connections {
namespace {

using namespace std::chrono_literals;

std::string says(const Status& status) {
  return status ? "" : std::string(to_string(status.error().code)) + ": " + status.error().message;
}

TEST(AddressParts, HostAndPort) {
  const auto read = [](std::string_view text) {
    const Result<HostPort> at = read_host(text);
    if (!at) return "refused: " + at.error().message;
    return at->host + " " + (at->port ? std::to_string(*at->port) : "none");
  };
  EXPECT_EQ(read("db.example"), "db.example none");
  EXPECT_EQ(read("db.example:1"), "db.example 1");
  EXPECT_EQ(read("10.0.0.1:65535"), "10.0.0.1 65535");
  EXPECT_EQ(read("[::1]:7"), "::1 7");
  EXPECT_EQ(read("[fe80::1]"), "fe80::1 none");
  EXPECT_EQ(read(":7"), " 7");
  EXPECT_EQ(read(""), " none");
  for (const char* const port : {"0", "65536", "abc", "", "-1", "+1", "1 ", "1x", "99999999999"}) {
    const std::string text = std::string("db:") + port;
    EXPECT_EQ(read(text), "refused: the port in \"" + text + "\" must be 1 to 65535");
  }
  EXPECT_EQ(read("[::1]7"), "refused: the port in \"[::1]7\" must be 1 to 65535");
  EXPECT_TRUE(read("[::1").starts_with("refused: no ] behind"));
  EXPECT_TRUE(read("::1").starts_with("refused: two colons in \"::1\""));
  EXPECT_EQ(read("a b:1"), "refused: no name of a host: \"a b\"");
  EXPECT_EQ(show_host("::1", 7), "[::1]:7");
  EXPECT_EQ(show_host("db", 7), "db:7");
}

TEST(AddressParts, OneHost) {
  std::string host = "usual";
  std::uint16_t port = 7;
  const auto read = [&](const char* text) {
    return says(read_one_host(host, port, Url::parse(text).value()));
  };
  EXPECT_EQ(read("x:///"), "");
  EXPECT_EQ(show_host(host, port), "usual:7");
  EXPECT_EQ(read("x://:8/"), "");
  EXPECT_EQ(show_host(host, port), "usual:8");
  EXPECT_EQ(read("x://db/"), "");
  EXPECT_EQ(show_host(host, port), "db:8");
  EXPECT_EQ(read("x://[::1]:9/"), "");
  EXPECT_EQ(show_host(host, port), "[::1]:9");
  EXPECT_TRUE(read("x://a,b/").starts_with("invalid: a x: address names one server, not \"a,b\""));
  EXPECT_TRUE(read("x://a:b/").starts_with("invalid: the port in"));
  EXPECT_EQ(show_host(host, port), "[::1]:9");
}

TEST(AddressParts, Space) {
  std::string space = "before";
  for (const char* const bad :
       {"", "A", "a-b", "a b", "a/b", "ä", "123456789012345678901234567890123"}) {
    EXPECT_TRUE(says(read_space(space, bad)).starts_with("invalid: space must be")) << bad;
    EXPECT_EQ(space, "before");
  }
  EXPECT_EQ(says(read_space(space, "12345678901234567890123456789_ab")), "");
  EXPECT_EQ(space, "12345678901234567890123456789_ab");
}

TEST(AddressParts, NumbersDurationsAndSwitches) {
  std::size_t pool = 5;
  for (const char* const bad : {"0", "1001", "-1", "1.5", "many", ""}) {
    EXPECT_TRUE(says(read_pool(pool, bad)).starts_with("invalid: pool must be 1 to 1000")) << bad;
  }
  EXPECT_EQ(says(read_pool(pool, "1000")), "");
  EXPECT_EQ(pool, 1000U);

  Duration timeout = 5s;
  for (const char* const bad : {"99ms", "61m", "tomorrow", "", "-5s"}) {
    EXPECT_EQ(says(read_connect_timeout(timeout, bad)),
              std::string("invalid: connect_timeout must be 100ms to 1h, not \"") + bad + "\"");
  }
  EXPECT_EQ(timeout, 5s);
  EXPECT_EQ(says(read_connect_timeout(timeout, "100ms")), "");
  EXPECT_EQ(timeout, 100ms);

  bool option = false;
  EXPECT_EQ(says(read_switch(option, "listen", "yes")),
            "invalid: listen is on or off, not \"yes\"");
  EXPECT_EQ(says(read_switch(option, "listen", "on")), "");
  EXPECT_TRUE(option);
}

TEST(AddressParts, PasswordFile) {
  const std::filesystem::path path =
      std::filesystem::path(testing::TempDir()) / ("password." + std::to_string(::getpid()));
  std::ofstream(path) << "first line\r\nsecond\n";
  std::string password;
  EXPECT_EQ(says(read_password_file(password, path.string())), "");
  EXPECT_EQ(password, "first line");
  std::filesystem::remove(path);
  EXPECT_TRUE(says(read_password_file(password, path.string())).starts_with("misconfigured: "));
}

}  // namespace
}  // namespace lockset::connections
