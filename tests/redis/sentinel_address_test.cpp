// Addresses of sentinels; nothing listens.
#include "tests/redis/fixture.h"

namespace lockset::redis_tests {
namespace {

std::string refused(const std::string& url, Errc code) {
  const auto opened = open_backend(url, soon());
  EXPECT_FALSE(opened) << "it was opened";
  return opened ? std::string() : checked(opened.error(), code);
}

TEST(RedisSentinelAddress, NamesWhatIsWrong) {
  EXPECT_TRUE(says(refused("redis+sentinel://s1,s2,s3", Errc::invalid), "/mymaster"));
  EXPECT_TRUE(says(refused("redis+sentinel://s1,s2,s3/", Errc::invalid), "/mymaster"));
  EXPECT_TRUE(says(refused("redis+sentinel:///main/x", Errc::invalid), "database number"));
  EXPECT_TRUE(says(refused("redis+sentinel://s1,s2,s1:26379/main", Errc::invalid), "twice"));
  EXPECT_TRUE(says(refused("redis+sentinel://s1:0/main", Errc::invalid), "port"));
  EXPECT_TRUE(says(refused("redis+sentinel://s1/main?socket=/x", Errc::invalid), "socket"));
  EXPECT_TRUE(says(refused("redis://s1/?sentinel_user=x", Errc::invalid), "sentinel_user"));
  EXPECT_TRUE(says(refused("redis+sentinel://s1/main?sentinel_user=me", Errc::invalid),
                   "REDISCLI_SENTINEL_AUTH"));
  EXPECT_TRUE(
      says(refused("redis+sentinel://s1/main?sentinel_password_file=/none", Errc::misconfigured),
           "/none"));
  EXPECT_TRUE(says(refused("redis://s1,s2/", Errc::invalid), "names one server"));
}

TEST(RedisSentinelAddress, NobodyListens) {
  const std::string error =
      refused("redis+sentinel://:secret@127.0.0.1:1,127.0.0.1:2,127.0.0.1:3/main/4?space=s",
              Errc::unavailable);
  EXPECT_TRUE(says(error,
                   "Redis (main by the sentinels 127.0.0.1:1, 127.0.0.1:2, 127.0.0.1:3, "
                   "database 4, space s): only 0 of the 3 sentinels say which server"))
      << error;
  EXPECT_TRUE(says(error, "sentinel 127.0.0.1:2: no server can be reached")) << error;
  EXPECT_FALSE(says(error, "secret"));
}

}  // namespace
}  // namespace lockset::redis_tests
