// Features that only some kinds of private servers have.
#include <gtest/gtest.h>

#include <boost/asio.hpp>
#include <fstream>

#include "tests/support/private_server.h"
#include "tests/support/requirement.h"
#include "tests/support/wait.h"

namespace lockset::test {
namespace {

namespace asio = boost::asio;

// A client of Redis, for commands without spaces in their arguments.
class RedisSession {
 public:
  explicit RedisSession(std::uint16_t port) : socket_(context_) {
    socket_.connect({asio::ip::address_v4::loopback(), port});
  }

  // The first line of the answer; if it announces a value, the value.
  std::string ask(const std::string& line) {
    asio::write(socket_, asio::buffer(line + "\r\n"));
    const std::string answer = receive();
    return answer.starts_with('$') && answer != "$-1" ? receive() : answer;
  }

 private:
  std::string receive() {
    const std::size_t length = asio::read_until(socket_, asio::dynamic_buffer(unread_), "\r\n");
    std::string line = unread_.substr(0, length - 2);
    unread_.erase(0, length);
    return line;
  }

  asio::io_context context_;
  asio::ip::tcp::socket socket_;
  std::string unread_;
};

std::string password(const PrivateServer& server) {
  std::string line;
  std::ifstream in(server.folder() / "password");
  std::getline(in, line);
  return line;
}

TEST(PrivateRedis, WantsAPasswordAndKeepsWhatItAnsweredWhenKilled) {
  if (!have_server("redis")) return;
  PrivateServer server("redis");
  EXPECT_EQ(server.admin_url(),
            "redis://:" + password(server) + "@127.0.0.1:" + std::to_string(server.port()) + "/0");
  {
    RedisSession session(server.port());
    EXPECT_TRUE(session.ask("GET a").starts_with("-NOAUTH"));
    EXPECT_EQ(session.ask("AUTH " + password(server)), "+OK");
    EXPECT_EQ(session.ask("SET a kept"), "+OK");
  }
  server.kill();
  server.start();
  RedisSession session(server.port());
  EXPECT_EQ(session.ask("AUTH lockset_admin " + password(server)), "+OK");
  EXPECT_EQ(session.ask("GET a"), "kept");
}

TEST(PrivateRedis, TakesLinesOfConfiguration) {
  if (!have_server("redis")) return;
  PrivateServer server("redis", {R"(requirepass "")", "appendonly no"});
  EXPECT_EQ(server.admin_url(), "redis://127.0.0.1:" + std::to_string(server.port()) + "/0");
  EXPECT_EQ(RedisSession(server.port()).ask("SET a lost"), "+OK");
  server.restart();
  EXPECT_EQ(RedisSession(server.port()).ask("GET a"), "$-1");
}

TEST(PrivateRedis, OneFollowsAnother) {
  if (!have_server("redis")) return;
  PrivateServer first("redis");
  PrivateServer second("redis", {"replicaof 127.0.0.1 " + std::to_string(first.port()),
                                 "masterauth " + password(first)});
  RedisSession writer(first.port());
  ASSERT_EQ(writer.ask("AUTH " + password(first)), "+OK");
  ASSERT_EQ(writer.ask("SET a copied"), "+OK");
  RedisSession reader(second.port());
  ASSERT_EQ(reader.ask("AUTH " + password(second)), "+OK");
  EXPECT_TRUE(eventually([&] { return reader.ask("GET a") == "copied"; }));
  EXPECT_TRUE(reader.ask("SET a b").starts_with("-READONLY"));
}

TEST(PrivateEnsemble, AnotherOneLeadsWhenTheLeaderIsKilled) {
  if (!have_server("zookeeper-ensemble")) return;
  PrivateServer server("zookeeper-ensemble");
  EXPECT_EQ(server.admin_url(), "zookeeper://127.0.0.1:" + std::to_string(server.port(1)) +
                                    ",127.0.0.1:" + std::to_string(server.port(2)) +
                                    ",127.0.0.1:" + std::to_string(server.port(3)));
  const int first = server.leader();
  server.kill(first);
  const int second = server.leader();
  EXPECT_NE(first, second);
  server.start(first);
  EXPECT_EQ(server.leader(), second);

  // They find each other again after all were killed, even if one is paused meanwhile.
  server.kill();
  server.start();
  const int third = server.leader();
  server.pause(third);
  EXPECT_NE(server.leader(), third);
  server.resume(third);
}

}  // namespace
}  // namespace lockset::test
