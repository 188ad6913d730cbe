// SEM 14: whether something was applied, by the error numbers of MySQL and MariaDB.
#include <gtest/gtest.h>

#include "backends/mysql/errors.h"

namespace lockset::mysql {
namespace {

// The server reports these for a breaking connection, if it still can: a proxy closed one
// direction, or a timeout of the server ended it.
TEST(MysqlErrors, ABrokenConnectionThatTheServerTellsOfIsOneAllTheSame) {
  for (const int code : {1152, 1156, 1158, 1159, 1160, 1161}) {
    EXPECT_TRUE(breaks_connection(code)) << code;
    const std::string said = "Got an error reading communication packets";
    EXPECT_EQ(error_from(code, said, "x", Sent::nothing).code, Errc::unavailable) << code;
    EXPECT_EQ(error_from(code, said, "x", Sent::reading).code, Errc::unavailable) << code;
    EXPECT_EQ(error_from(code, said, "x", Sent::change).code, Errc::indeterminate) << code;
  }
}

// The client library gives both cases one number; the message tells them apart.
TEST(MysqlErrors, ALoginThatBreaksOffIsNoWrongSetting) {
  EXPECT_EQ(error_from(2061, "Couldn't read RSA public key from server", "x", Sent::nothing).code,
            Errc::unavailable);
  EXPECT_EQ(error_from(2061, "Authentication plugin said no", "x", Sent::nothing).code,
            Errc::misconfigured);
}

// A connection that is killed during its TLS handshake ends with an error in plain text.
TEST(MysqlErrors, AHandshakeThatBreaksOffIsNoWrongSetting) {
  for (const char* said : {"TLS/SSL error: wrong version number", "TLS/SSL error: unexpected eof",
                           "TLS/SSL error: decryption failed or bad record mac",
                           "SSL connection error: An unexpected TLS packet was received."}) {
    EXPECT_EQ(error_from(2026, said, "x", Sent::nothing).code, Errc::unavailable) << said;
  }
  EXPECT_EQ(error_from(2026, "TLS/SSL error: certificate verify failed", "x", Sent::nothing).code,
            Errc::misconfigured);
  EXPECT_EQ(error_from(2026, "TLS/SSL error: anything", "x", Sent::reading).code,
            Errc::unavailable);
}

TEST(MysqlErrors, WhatTheServerRefusedWasNotApplied) {
  EXPECT_EQ(error_from(1040, "Too many connections", "x", Sent::change).code, Errc::unavailable);
  EXPECT_EQ(error_from(1370, "execute command denied", "x", Sent::change).code,
            Errc::misconfigured);
  EXPECT_FALSE(breaks_connection(1370));
}

// The routine decides; the space's name does not matter.
TEST(MysqlErrors, ARefusedCallOfOperatorsSaysWhichRightsItTakes) {
  const auto line = [](const std::string& routine) {
    const std::string said =
        "execute command denied to user 'app'@'%' for routine 'db." + routine + "'";
    return error_from(1370, said, "x", Sent::change).message;
  };
  for (const char* routine : {"locks_break", "locks_change"}) {
    EXPECT_NE(line(routine).find("lockset init --operator app ("), std::string::npos) << routine;
  }
  for (const char* routine : {"locks_renew", "my_break_release", "a_change_sweep"}) {
    EXPECT_NE(line(routine).find("lockset init --program app ("), std::string::npos) << routine;
  }
}

TEST(MysqlErrors, WhatNobodyKnowsAfterAChangeWasSentIsIndeterminate) {
  EXPECT_EQ(error_from(9999, "new", "x", Sent::change).code, Errc::indeterminate);
  EXPECT_EQ(error_from(9999, "new", "x", Sent::reading).code, Errc::internal);
}

}  // namespace
}  // namespace lockset::mysql
