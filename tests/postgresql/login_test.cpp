// Passwords and TLS: their sources, what is refused, and that no message shows them.
#include <filesystem>
#include <fstream>

#include "tests/postgresql/fixture.h"

namespace lockset::postgresql_tests {
namespace {

namespace fs = std::filesystem;

class Login : public PostgresqlTest {
 protected:
  // libpq accepts no password file that others can read.
  fs::path password_file(const Address& address, const std::string& password) {
    fs::path file = server().folder() / (space() + ".pgpass");
    std::ofstream(file) << "*:*:*:" << address.user << ':' << password << '\n';
    fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
    return file;
  }
  static std::string verified(const Address& address, const char* authority) {
    Address mine = address;
    mine.parameters +=
        "&sslmode=verify-full&sslrootcert=" + (server().folder() / authority).string();
    return mine.url();
  }
};

TEST_P(Login, AWrongPassword) {
  Address address = runtime_user();
  address.password = "guessed";
  const std::string message = refused(address.url(), Errc::misconfigured);
  EXPECT_TRUE(says(message, "28P01")) << message;
  EXPECT_FALSE(says(message, "guessed")) << message;
}

TEST_P(Login, NoPassword) {
  Address address = runtime_user();
  address.password = "";
  EXPECT_TRUE(says(refused(address.url(), Errc::misconfigured), "PGPASSWORD"));
}

TEST_P(Login, AUserThatIsNotThere) {
  const Address address{.user = "nobody_of_that_name", .password = "guessed", .parameters = ""};
  const std::string message = refused(address.url(), Errc::misconfigured);
  EXPECT_TRUE(says(message, "nobody_of_that_name")) << message;
  EXPECT_FALSE(says(message, "guessed")) << message;
}

TEST_P(Login, APasswordInTheAddress) {
  EXPECT_TRUE(open_backend(runtime_user("open sesame").url(), soon()));
}

TEST_P(Login, APasswordFromTheEnvironment) {
  Address address = runtime_user("from outside");
  address.password = "";
  {
    const Environment password("PGPASSWORD", "from outside");
    EXPECT_TRUE(open_backend(address.url(), soon()));
  }
  const Environment wrong("PGPASSWORD", "wrong one");
  const std::string message = refused(address.url(), Errc::misconfigured);
  EXPECT_FALSE(says(message, "wrong one")) << message;
}

TEST_P(Login, APasswordFromAFile) {
  Address address = runtime_user("from a file");
  address.password = "";
  const fs::path file = password_file(address, "from a file");
  {
    const Environment passfile("PGPASSFILE", file.string());
    EXPECT_TRUE(open_backend(address.url(), soon()));
  }
  address.parameters += "&passfile=" + file.string();
  EXPECT_TRUE(open_backend(address.url(), soon()));
  password_file(address, "another one");
  const std::string message = refused(address.url(), Errc::misconfigured);
  EXPECT_FALSE(says(message, "another one")) << message;
}

TEST_P(Login, OverTlsWithTheRightCertificateOnly) {
  Address address = runtime_user();
  address.host = "localhost";
  const std::shared_ptr<Backend> backend =
      open_backend(verified(address, "ca.pem"), soon()).value();
  EXPECT_TRUE(Client(backend).take({write("a")}).stamp);
  const std::string connections =
      "SELECT count(*) FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid) WHERE a.usename = '" +
      address.user + "' AND ";
  EXPECT_GE(admin().number(connections + "s.ssl"), 1);
  EXPECT_EQ(admin().number(connections + "NOT s.ssl"), 0);

  const std::string message = refused(verified(address, "wrong-ca.pem"), Errc::misconfigured);
  EXPECT_TRUE(says(message, "certificate")) << message;
  EXPECT_FALSE(says(message, "sesame")) << message;
}

TEST_P(Login, OverTlsWithTheRightHostOnly) {
  Address address = runtime_user();
  address.host = "db.example";
  address.parameters += "&hostaddr=127.0.0.1";
  const std::string message = refused(verified(address, "ca.pem"), Errc::misconfigured);
  EXPECT_TRUE(says(message, "db.example")) << message;
  EXPECT_FALSE(says(message, "sesame")) << message;
}

LOCKSET_POSTGRESQL_SUITE(Login);

}  // namespace
}  // namespace lockset::postgresql_tests
