// rediss: if the build's hiredis has no TLS; otherwise tls_test.cpp is built.
#include "tests/redis/fixture.h"

namespace lockset::redis_tests {
namespace {

class RedisWithoutTls : public RedisServerTest {};

TEST_F(RedisWithoutTls, SaysSo) {
  if (!start()) return;
  const std::string url = at({.password = password(), .scheme = "rediss"});
  for (const std::string& message :
       {refused(url, Errc::misconfigured), failed(init_space(url, soon()), Errc::misconfigured),
        failed(examine_space(url, soon()), Errc::misconfigured)}) {
    EXPECT_TRUE(says(message, "TLS")) << message;
    EXPECT_TRUE(says(message, "hiredis")) << message;
    EXPECT_FALSE(says(message, password())) << message;
  }
}

}  // namespace
}  // namespace lockset::redis_tests
