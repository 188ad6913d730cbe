// Identities and addresses: passwords, users, databases, sockets; what is refused, and that no
// message shows a password.
#include <filesystem>
#include <fstream>

#include "tests/redis/fixture.h"

namespace lockset::redis_tests {
namespace {

namespace fs = std::filesystem;

class RedisLogin : public RedisServerTest {
 protected:
  fs::path password_file(const std::string& text) {
    fs::path file = server().folder() / "a-password";
    std::ofstream(file) << text;
    return file;
  }
  // Makes "app" with this password and all rights.
  void make_user(const std::string& password) {
    admin().say({"ACL", "SETUSER", "app", "on", ">" + password, "~*", "&*", "+@all"});
  }
  static bool works(const std::string& url) {
    Client client(open_backend(url, soon()).value());
    return client.release(client.take({write("a")}).stamp);
  }
};

TEST_F(RedisLogin, ByPassword) {
  if (!start()) return;
  EXPECT_TRUE(works(at({.password = password()})));
  const std::string wrong = refused(at({.password = "guessed-wrong"}), Errc::misconfigured);
  EXPECT_TRUE(says(wrong, "password")) << wrong;
  const std::string none = refused(at(Address{}), Errc::misconfigured);
  EXPECT_TRUE(says(none, "password_file")) << none;
  EXPECT_TRUE(says(none, "REDISCLI_AUTH")) << none;
}

TEST_F(RedisLogin, AsAUser) {
  if (!start()) return;
  make_user("open-sesame");
  EXPECT_TRUE(works(at({.user = "app", .password = "open-sesame"})));
  const Address wrong{.user = "app", .password = "guessed-wrong"};
  EXPECT_TRUE(says(refused(at(wrong), Errc::misconfigured), "password"));
  const Address nobody{.user = "nobody_like_that", .password = "open-sesame"};
  const std::string message = refused(at(nobody), Errc::misconfigured);
  EXPECT_TRUE(says(message, "nobody_like_that")) << message;
  EXPECT_TRUE(says(refused(at({.user = "app"}), Errc::invalid), "password"));
  admin().say({"ACL", "SETUSER", "app", "off"});
  const Address off{.user = "app", .password = "open-sesame"};
  EXPECT_TRUE(says(refused(at(off), Errc::misconfigured), "is on"));
}

// Characters other than letters and digits are written as in any address.
TEST_F(RedisLogin, APasswordOfSpecialCharacters) {
  if (!start()) return;
  make_user("p@ss:w/rd%?");
  EXPECT_TRUE(works(at({.user = "app", .password = "p%40ss%3Aw%2Frd%25%3F"})));
}

TEST_F(RedisLogin, APasswordFromTheEnvironment) {
  if (!start()) return;
  {
    const Environment variable("REDISCLI_AUTH", password());
    EXPECT_TRUE(works(at(Address{})));
    // The address has priority.
    refused(at({.password = "guessed-wrong"}), Errc::misconfigured);
  }
  const Environment variable("REDISCLI_AUTH", "from-outside");
  EXPECT_FALSE(says(refused(at(Address{}), Errc::misconfigured), "from-outside"));
}

TEST_F(RedisLogin, APasswordFromAFile) {
  if (!start()) return;
  const Environment variable("REDISCLI_AUTH", "of no account");
  const std::string parameter = "password_file=" + (server().folder() / "a-password").string();
  password_file(password() + "\nanother line\n");
  EXPECT_TRUE(works(at({.parameters = parameter})));
  password_file("from-the-file\n");
  const std::string wrong = refused(at({.parameters = parameter}), Errc::misconfigured);
  EXPECT_FALSE(says(wrong, "from-the-file")) << wrong;
  fs::remove(server().folder() / "a-password");
  EXPECT_TRUE(says(refused(at({.parameters = parameter}), Errc::misconfigured), "a-password"));
}

TEST_F(RedisLogin, AServerWithoutAPassword) {
  if (!start_own({"requirepass \"\""})) return;
  EXPECT_TRUE(works(url()));
  const std::string message = refused(at({.password = "superfluous"}), Errc::misconfigured);
  EXPECT_TRUE(says(message, "password")) << message;
}

// SEM 1: two databases are two independent spaces
TEST_F(RedisLogin, DatabasesHaveSpacesOfTheirOwn) {
  if (!start()) return;
  const std::string other = at({.password = password(), .database = "1"});
  EXPECT_TRUE(says(refused(other, Errc::misconfigured), "lockset init"));
  init_space(other, soon()).value();
  Client here = client();
  Client there(open_backend(other, soon()).value());
  const Stamp mine = here.take({write("a")}).stamp;
  const Stamp theirs = there.take({write("a")}).stamp;
  EXPECT_EQ(there.holds().size(), 1U);
  EXPECT_TRUE(here.release(mine));
  EXPECT_TRUE(there.is_live(theirs));
  // Channels have no databases: only the waiter's own space wakes it, and in time.
  const Busy busy = there.meet_busy({write("a")}, {.will_wait = true});
  EXPECT_TRUE(there.release(theirs));
  EXPECT_TRUE(there.backend().await_change(*busy.ticket, soon(), {}));
  EXPECT_TRUE(there.take({write("a")}, {.will_wait = true, .ticket = busy.ticket}).stamp);
}

TEST_F(RedisLogin, ADatabaseThatIsNotThere) {
  if (!start()) return;
  const Address beyond{.password = password(), .database = "16"};
  EXPECT_TRUE(says(refused(at(beyond), Errc::misconfigured), "database"));
  for (const char* const typo : {"jobs", "-1", "65536"}) {
    const Address odd{.password = password(), .database = typo};
    EXPECT_TRUE(says(refused(at(odd), Errc::invalid), "database number")) << typo;
  }
}

TEST_F(RedisLogin, OverAUnixSocket) {
  if (!start()) return;
  const std::string path = (server().folder() / "socket" / "redis.sock").string();
  // No server listens on the port: the socket replaces host and port.
  EXPECT_TRUE(works("redis://:" + password() + "@localhost:1/0?socket=" + path));
  EXPECT_TRUE(works("redis://:" + password() + "@/0?socket=" + path));
  const std::string nowhere = "redis://:" + password() + "@/0?socket=" + path + "x";
  EXPECT_TRUE(says(refused(nowhere, Errc::unavailable), path + "x"));
  const std::string endless =
      "redis://:" + password() + "@/0?socket=/" + std::string(200, 'x') + "/redis.sock";
  EXPECT_TRUE(says(refused(endless, Errc::invalid), "too long"));
}

}  // namespace
}  // namespace lockset::redis_tests
