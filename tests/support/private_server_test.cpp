#include "tests/support/private_server.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <boost/asio.hpp>
#include <fstream>

#include "tests/support/requirement.h"
#include "tests/support/wait.h"
#include "tools/child.h"

namespace lockset::test {
namespace {

namespace asio = boost::asio;

// A server of any kind answers its greeting: PostgreSQL a request for TLS, Redis and memcached a
// line, ZooKeeper its four letters; the MySQL family greets every client first.
std::string greeting(const std::string& kind) {
  if (kind.starts_with("redis")) return "PING\r\n";
  if (kind == "memcached") return "version\r\n";
  if (kind.starts_with("zookeeper")) return "srvr";
  return std::string("\0\0\0\x08\x04\xd2\x16\x2f", 8);
}

enum class Answer { none, refused, spoken };

bool is_sql(const std::string& kind) {
  return !kind.starts_with("redis") && kind != "memcached" && !kind.starts_with("zookeeper");
}

class PrivateServerTest : public testing::TestWithParam<std::string> {
 protected:
  static Answer ask(std::uint16_t port, Duration limit = patience) {
    asio::io_context context;
    asio::ip::tcp::socket socket(context);
    boost::system::error_code error;
    socket.connect({asio::ip::address_v4::loopback(), port}, error);
    if (error) return Answer::refused;
    asio::write(socket, asio::buffer(greeting(GetParam())), error);
    pollfd ready{socket.native_handle(), POLLIN, 0};
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(limit).count();
    return ::poll(&ready, 1, static_cast<int>(ms)) > 0 ? Answer::spoken : Answer::none;
  }

  void SetUp() override { have_server(GetParam()); }
};

TEST_P(PrivateServerTest, ComesAndGoes) {
  std::filesystem::path folder;
  std::uint16_t port = 0;
  {
    PrivateServer server(GetParam());
    folder = server.folder();
    port = server.port();
    EXPECT_NE(server.admin_url().find("127.0.0.1:" + std::to_string(port)), std::string::npos);
    if (is_sql(GetParam())) {
      EXPECT_TRUE(server.admin_url().ends_with("/lockset"));
      EXPECT_TRUE(std::filesystem::exists(folder / "ca.pem"));
      EXPECT_TRUE(std::filesystem::exists(folder / "wrong-ca.pem"));
    }
    EXPECT_EQ(ask(port), Answer::spoken);

    server.kill();
    EXPECT_EQ(ask(port), Answer::refused);
    server.start();
    EXPECT_EQ(ask(port), Answer::spoken);
    server.stop();
    EXPECT_EQ(ask(port), Answer::refused);
    server.start();
    EXPECT_EQ(ask(port), Answer::spoken);

    server.pause();
    EXPECT_EQ(ask(port, std::chrono::milliseconds(100)), Answer::none);
    server.resume();
    EXPECT_EQ(ask(port), Answer::spoken);
    server.pause();
  }
  EXPECT_EQ(ask(port), Answer::refused) << "it outlives its object";
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST_P(PrivateServerTest, TwoAtOnce) {
  std::filesystem::path folder;
  {
    PrivateServer one(GetParam());
    PrivateServer two(GetParam());
    folder = one.folder();
    EXPECT_NE(one.port(), two.port());
    one.stop();
    EXPECT_EQ(ask(two.port()), Answer::spoken);
  }
  EXPECT_FALSE(std::filesystem::exists(folder)) << "a stopped server's folder stays";
}

TEST_P(PrivateServerTest, EndsWhenItsScriptIsKilled) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("lockset-run-" + std::to_string(getpid()));
  tools::Child script({LOCKSET_SERVER_SCRIPT, GetParam(), "run", folder.string()});
  script.receive(std::chrono::seconds(120));
  int port = 0;
  std::ifstream(folder / "port") >> port;
  EXPECT_EQ(ask(static_cast<std::uint16_t>(port)), Answer::spoken);
  script.kill();
  EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(folder); }));
  EXPECT_EQ(ask(static_cast<std::uint16_t>(port)), Answer::refused);
}

INSTANTIATE_TEST_SUITE_P(Each, PrivateServerTest,
                         testing::Values("postgresql", "mariadb", "mysql", "redis",
                                         "redis-sentinel", "memcached", "zookeeper",
                                         "zookeeper-ensemble"),
                         [](const auto& param) {
                           std::string name = param.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(PrivateServerKinds, AnUnknownKindIsUnavailable) {
  EXPECT_TRUE(PrivateServer::unavailable("oracle"));
}

}  // namespace
}  // namespace lockset::test
