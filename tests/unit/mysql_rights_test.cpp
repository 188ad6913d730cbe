// The names of accounts for lockset init, and which names are refused.
#include <gtest/gtest.h>

#include "backends/mysql/rights.h"
#include "lockset/registry.h"

namespace lockset::mysql {
namespace {

TEST(MysqlRights, AnAccountIsAUserAndAHost) {
  const auto quoted = [](const char* text) { return parse_account(text).value().quoted(); };
  EXPECT_EQ(quoted("app"), "'app'@'%'");
  EXPECT_EQ(quoted("app@localhost"), "'app'@'localhost'");
  EXPECT_EQ(quoted("app@10.0.0.%"), "'app'@'10.0.0.%'");
  EXPECT_EQ(quoted("'app'"), "'app'@'%'");
  EXPECT_EQ(quoted("'app'@'db.example'"), "'app'@'db.example'");
  EXPECT_EQ(quoted("'app'@db.example"), "'app'@'db.example'");
  EXPECT_EQ(quoted("'a@b'@'::1'"), "'a@b'@'::1'");
  EXPECT_EQ(quoted("a@b@::1"), "'a@b'@'::1'");
  EXPECT_EQ(quoted("o'brien"), "'o''brien'@'%'");
  EXPECT_EQ(quoted("'o''brien'@'%'"), "'o''brien'@'%'");
  EXPECT_EQ(quoted("two words"), "'two words'@'%'");
}

TEST(MysqlRights, WhatCantBeAnAccountIsRefused) {
  for (const char* const text :
       {"", "@", "@localhost", "app@", "''", "''@'%'", "'app", "'app'x", "'app'@'%", "'app'@'%'x",
        "a\nb", "a\\", "app@'%'; DROP TABLE x", "a`b", "a\"b"}) {
    const Result<Account> account = parse_account(text);
    ASSERT_FALSE(account) << text << " became " << account->quoted();
    EXPECT_EQ(account.error().code, Errc::invalid) << text;
    EXPECT_EQ(account.error().message.find('\n'), std::string::npos) << text;
  }
  EXPECT_FALSE(parse_account(std::string(129, 'a')));
}

TEST(MysqlRights, TheScriptConnectsToNothingAndHoldsNoSecret) {
  const std::string url = "mysql://admin:open-sesame@192.0.2.1/prod?space=jobs";
  const std::string script = lockset::rights_script(url, Role::programs, "app").value();
  EXPECT_EQ(script.find("open-sesame"), std::string::npos);
  EXPECT_NE(script.find("GRANT EXECUTE ON PROCEDURE `prod`.jobs_renew TO 'app'@'%';\n"),
            std::string::npos)
      << script;
  EXPECT_EQ(script.find("jobs_names"), std::string::npos) << script;
  EXPECT_EQ(script.back(), '\n');
  EXPECT_EQ(lockset::rights_script(url, Role::programs, "a\\b").error().code, Errc::invalid);
}

}  // namespace
}  // namespace lockset::mysql
