#include "backends/server/address_parts.h"

#include <gtest/gtest.h>

namespace lockset::addresses {
namespace {

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

TEST(AddressParts, Passwords) {
  EXPECT_EQ(says(check_password("", "", "X_PASSWORD")), "");
  EXPECT_EQ(says(check_password("app", "secret", "X_PASSWORD")), "");
  EXPECT_EQ(says(check_password("app", "", "X_PASSWORD")),
            "invalid: the user \"app\" has no password: give it in the address, in password_file "
            "or in X_PASSWORD");
  EXPECT_EQ(says(check_certificate("", "")), "");
  EXPECT_EQ(says(check_certificate("cert", "key")), "");
  EXPECT_TRUE(says(check_certificate("", "key")).starts_with("invalid: ssl_cert and ssl_key"));
  EXPECT_EQ(says(check_authority(Url::parse("x://db/").value(), "x://host/")), "");
  EXPECT_EQ(says(check_authority(Url::parse("x:db").value(), "x://host/")),
            "invalid: a x: address names a server: x://host/, not x:db");
}

}  // namespace
}  // namespace lockset::addresses
