// TLS, and the ways to supply a password: none of them puts it into a message.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "backends/mysql/native_connection.h"
#include "tests/mysql/fixture.h"

namespace lockset::mysql_tests {
namespace {

class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    ::setenv(name, value.c_str(), 1);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() { ::unsetenv(name_); }

 private:
  const char* name_;
};

class Tls : public MysqlTest {
 protected:
  std::string with(Address address, const std::string& mode, const std::string& authority) {
    address.parameters += "&ssl_mode=" + mode;
    if (!authority.empty()) {
      address.parameters += "&ssl_ca=" + (server().folder() / authority).string();
    }
    return url(address);
  }
};

TEST_P(Tls, VerifiesTheServersCertificate) {
  const Address address = runtime_user("open-sesame", "REQUIRE SSL");  // the server itself checks
  for (const std::string mode : {"verify_ca", "verify_identity"}) {
    Client mine(open_backend(with(address, mode, "ca.pem"), soon()).value());
    EXPECT_TRUE(mine.release(mine.take({write("a")}).stamp));
    const std::string message = refused(with(address, mode, "wrong-ca.pem"), Errc::misconfigured);
    EXPECT_TRUE(says(message, "ssl_ca")) << message;
    // doctor does not call it verified either.
    EXPECT_FALSE(examine_space(with(address, mode, "wrong-ca.pem"), soon()));
  }
  // A given CA is checked even without a mode.
  Address unsaid = address;
  unsaid.parameters += "&ssl_ca=" + (server().folder() / "wrong-ca.pem").string();
  refused(url(unsaid), Errc::misconfigured);
}

TEST_P(Tls, RefusesAServerOfAnotherName) {
  Address address = runtime_user();
  address.host = "0";  // also the loopback, but in no certificate
  const std::string message =
      refused(with(address, "verify_identity", "ca.pem"), Errc::misconfigured);
  EXPECT_TRUE(says(message, "host name")) << message;
  // verify_ca ignores it, if the client library can.
  EXPECT_EQ(open_backend(with(address, "verify_ca", "ca.pem"), soon()).ok(),
            !mysql::checks_host_name(mysql::SslMode::verify_ca));
}

TEST_P(Tls, IsThereWhereItIsWanted) {
  const Address address = runtime_user("open-sesame", "REQUIRE SSL");
  EXPECT_TRUE(open_backend(with(address, "required", ""), soon()));
  refused(with(address, "disabled", ""), Errc::misconfigured);
}

TEST_P(Tls, DoctorTellsWhetherItIsThere) {
  const Address address = runtime_user();
  const auto level = [&](const std::string& mode, const std::string& authority) {
    const auto findings = examine_space(with(address, mode, authority), soon()).value();
    for (const Finding& finding : findings) {
      if (finding.subject == "encryption") return finding.level;
    }
    return Finding::Level::unsafe;
  };
  EXPECT_EQ(level("verify_identity", "ca.pem"), Finding::Level::good);
  EXPECT_EQ(level("verify_ca", "ca.pem"), Finding::Level::good);
  EXPECT_EQ(level("required", ""), Finding::Level::warning);
}

TEST_P(Tls, APasswordFromTheEnvironment) {
  Address address = runtime_user("from-outside");
  address.password = "";
  {
    const Environment password("MYSQL_PWD", "from-outside");
    EXPECT_TRUE(open_backend(url(address), soon()));
  }
  const Environment wrong("MYSQL_PWD", "wrong-outside");
  const std::string message = refused(url(address), Errc::misconfigured);
  EXPECT_FALSE(says(message, "wrong-outside")) << message;
}

TEST_P(Tls, APasswordFromAFile) {
  Address address = runtime_user("from-a-file");
  address.password = "";
  const std::filesystem::path file = server().folder() / (space() + ".password");
  const std::string parameters = address.parameters;
  address.parameters = parameters + "&password_file=" + file.string();
  EXPECT_TRUE(says(refused(url(address), Errc::misconfigured), "password_file"));
  std::ofstream(file) << "from-a-file\n";
  EXPECT_TRUE(open_backend(url(address), soon()));
  std::ofstream(file) << "wrong-in-file\n";
  const std::string message = refused(url(address), Errc::misconfigured);
  EXPECT_FALSE(says(message, "wrong-in-file")) << message;
}

// The default for every user of MySQL 9; MariaDB 10.11 does not have it.
TEST_P(Tls, CachingSha2) {
  const Address address = runtime_user();
  const std::string plugin =
      admin().value("SELECT plugin FROM mysql.user WHERE user = '" + address.user + "'");
  if (!is_mariadb()) {
    EXPECT_EQ(plugin, "caching_sha2_password");
    admin().rows("FLUSH PRIVILEGES");  // clears its cache: then the password itself is sent
  }
  EXPECT_TRUE(open_backend(with(address, "required", ""), soon()));
  EXPECT_TRUE(open_backend(with(address, "verify_ca", "ca.pem"), soon()));
}

LOCKSET_MYSQL_SERVERS(Tls);

}  // namespace
}  // namespace lockset::mysql_tests
