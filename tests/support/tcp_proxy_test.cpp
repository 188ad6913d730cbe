#include "tests/support/tcp_proxy.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <boost/asio.hpp>
#include <list>
#include <string>
#include <thread>

#include "tests/support/wait.h"

namespace lockset::test {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using asio::ip::tcp;
using boost::system::error_code;
using Ending = TcpProxy::Ending;
using Way = TcpProxy::Way;

// Answers each line with the same line, and remembers how many there were.
class EchoServer {
 public:
  EchoServer() : acceptor_(context_, {asio::ip::address_v4::loopback(), 0}) {
    thread_ = std::thread([this] {
      for (;;) {
        tcp::socket client(context_);
        error_code error;
        acceptor_.accept(client, error);
        if (error || stopping_) return;
        servants_.emplace_back([this, client = std::move(client)]() mutable { serve(client); });
      }
    });
  }
  ~EchoServer() {
    stopping_ = true;
    tcp::socket last(context_);
    error_code ignored;
    last.connect({asio::ip::address_v4::loopback(), port()}, ignored);
    thread_.join();
  }
  [[nodiscard]] std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  std::atomic<int> lines = 0;
  std::atomic<int> ended = 0;  // connections that a client or the network has ended

 private:
  void serve(tcp::socket& client) {
    std::string text;
    error_code error;
    while (asio::read_until(client, asio::dynamic_buffer(text), '\n', error)) {
      const std::size_t size = text.find('\n') + 1;
      ++lines;
      asio::write(client, asio::buffer(text, size), error);
      text.erase(0, size);
    }
    ++ended;
  }
  asio::io_context context_;
  tcp::acceptor acceptor_;
  std::atomic<bool> stopping_ = false;
  std::list<std::jthread> servants_;
  std::thread thread_;
};

class Caller {
 public:
  explicit Caller(std::uint16_t port) : socket_(context_) {
    socket_.connect({asio::ip::address_v4::loopback(), port});
  }
  void send(const std::string& text) { asio::write(socket_, asio::buffer(text)); }
  // What arrives within the limit; "EOF", "RESET" or "" for nothing.
  std::string receive(Duration limit = patience) {
    pollfd ready{socket_.native_handle(), POLLIN, 0};
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(limit).count();
    if (::poll(&ready, 1, static_cast<int>(ms)) <= 0) return {};
    std::array<char, 100> buffer{};
    error_code error;
    const std::size_t size = socket_.read_some(asio::buffer(buffer), error);
    if (error == asio::error::eof) return "EOF";
    if (error) return "RESET";
    return {buffer.data(), size};
  }
  std::string ask(const std::string& text) {
    send(text);
    return receive();
  }
  void close() { socket_.close(); }

 private:
  asio::io_context context_;
  tcp::socket socket_;
};

class Proxy : public testing::Test {
 protected:
  EchoServer server;
  TcpProxy proxy{server.port()};
};

TEST_F(Proxy, CountsRoundTrips) {
  Caller a(proxy.port());
  EXPECT_EQ(a.ask("one\n"), "one\n");
  EXPECT_EQ(a.ask("two\n"), "two\n");
  Caller b(proxy.port());
  EXPECT_EQ(b.ask("three\n"), "three\n");
  EXPECT_EQ(proxy.round_trips(), 3U);
  EXPECT_EQ(proxy.round_trips_by_connection(), (std::vector<std::size_t>{2, 1}));
  EXPECT_EQ(proxy.connections(), 2U);
  EXPECT_EQ(proxy.open_connections(), 2U);
  a.close();
  EXPECT_TRUE(eventually([&] { return proxy.open_connections() == 1; }));
  proxy.reset_counts();
  EXPECT_EQ(proxy.round_trips(), 0U);
  EXPECT_EQ(b.ask("four\n"), "four\n");
  EXPECT_EQ(proxy.round_trips_by_connection(), std::vector<std::size_t>{1});
  EXPECT_EQ(proxy.connections(), 0U);
}

TEST_F(Proxy, ARequestInPiecesIsOneRoundTrip) {
  Caller a(proxy.port());
  a.send("o");
  EXPECT_EQ(a.receive(20ms), "");
  EXPECT_EQ(a.ask("ne\n"), "one\n");
  EXPECT_EQ(proxy.round_trips(), 1U);
}

TEST_F(Proxy, FromAFarServerWhatIsAskedBeforeTheFirstAnswerIsOneRoundTrip) {
  Caller a(proxy.port());
  const TimePoint begin = BootClock::now();
  proxy.far(500ms);
  a.send("one\n");
  ASSERT_TRUE(eventually([&] { return server.lines == 1; }));
  EXPECT_EQ(a.receive(100ms), "") << "it is on its way";
  EXPECT_EQ(proxy.round_trips(), 1U);
  a.send("two\n");
  EXPECT_EQ(a.receive(), "one\n");
  EXPECT_GE(BootClock::now(), begin + 500ms);
  EXPECT_EQ(a.receive(), "two\n");
  EXPECT_EQ(proxy.round_trips(), 1U);
  EXPECT_EQ(a.ask("three\n"), "three\n");
  EXPECT_EQ(proxy.round_trips(), 2U);
}

TEST_F(Proxy, CutsAReplyAfterTheRequestWasDone) {
  for (const Ending ending : {Ending::reset, Ending::close}) {
    for (const std::size_t pass : {0U, 1U, 3U, 4U}) {
      const int before = server.lines;
      Caller a(proxy.port());
      EXPECT_EQ(a.ask("first\n"), "first\n");
      proxy.cut_next_reply(pass, ending);
      EXPECT_FALSE(proxy.caught());
      a.send("abc\n");
      if (pass > 0) {
        EXPECT_EQ(a.receive(), std::string("abc\n").substr(0, pass));
      }
      EXPECT_EQ(a.receive(), ending == Ending::reset ? "RESET" : "EOF");
      EXPECT_EQ(server.lines, before + 2);
      EXPECT_TRUE(proxy.caught());
    }
  }
  EXPECT_TRUE(eventually([&] { return server.ended == 8; }));
}

TEST_F(Proxy, CutsOneReplyOnly) {
  Caller a(proxy.port());
  Caller b(proxy.port());
  EXPECT_EQ(a.ask("x\n") + b.ask("x\n"), "x\nx\n");
  proxy.cut_next_reply();
  EXPECT_EQ(b.ask("y\n"), "RESET");
  EXPECT_EQ(a.ask("y\n"), "y\n");
}

TEST_F(Proxy, ChangesOneByteOfOneReply) {
  Caller a(proxy.port());
  EXPECT_EQ(a.ask("x\n"), "x\n");
  proxy.change_next_reply(1);
  EXPECT_EQ(a.ask("abc\n"), "acc\n");
  EXPECT_TRUE(proxy.caught());
  EXPECT_EQ(a.ask("abc\n"), "abc\n");
}

TEST_F(Proxy, CutsAReplyAndAllOtherConnections) {
  Caller a(proxy.port());
  Caller b(proxy.port());
  EXPECT_EQ(a.ask("x\n") + b.ask("x\n"), "x\nx\n");
  proxy.cut_next_reply(0, Ending::reset_all);
  EXPECT_EQ(b.ask("y\n"), "RESET");
  EXPECT_EQ(server.lines, 3);
  EXPECT_EQ(a.receive(), "RESET");
}

TEST_F(Proxy, LeavesLaterConnectionsAlone) {
  Caller a(proxy.port());
  EXPECT_EQ(a.ask("x\n"), "x\n");
  proxy.cut_next_reply();
  Caller b(proxy.port());
  EXPECT_EQ(b.ask("y\n"), "y\n");
  EXPECT_FALSE(proxy.caught());
  EXPECT_EQ(a.ask("y\n"), "RESET");
}

TEST_F(Proxy, DeliversLate) {
  Caller a(proxy.port());
  EXPECT_EQ(a.ask("x\n"), "x\n");
  proxy.hold_next_request();
  a.send("late\n");
  EXPECT_TRUE(eventually([&] { return proxy.caught(); }));
  EXPECT_EQ(a.receive(50ms), "");
  EXPECT_EQ(server.lines, 1);
  a.close();
  Caller b(proxy.port());
  EXPECT_EQ(b.ask("y\n"), "y\n");
  EXPECT_EQ(server.lines, 2);
  EXPECT_EQ(proxy.deliver_held(), 1U);
  EXPECT_TRUE(eventually([&] { return server.lines == 3; }));
  EXPECT_TRUE(eventually([&] { return server.ended == 1; }));
  EXPECT_EQ(proxy.deliver_held(), 0U);
}

TEST_F(Proxy, DeliversLateToOneThatStillWaits) {
  Caller a(proxy.port());
  EXPECT_EQ(a.ask("x\n"), "x\n");
  proxy.hold_next_request();
  a.send("late\n");
  EXPECT_TRUE(eventually([&] { return proxy.caught(); }));
  EXPECT_EQ(a.receive(50ms), "");
  EXPECT_EQ(proxy.deliver_held(), 1U);
  EXPECT_EQ(a.receive(), "late\n");
  EXPECT_EQ(a.ask("y\n"), "y\n");
}

TEST_F(Proxy, BlackHoles) {
  for (const Way way : {Way::to_server, Way::to_client, Way::both}) {
    const int before = server.lines;
    Caller old(proxy.port());
    EXPECT_EQ(old.ask("x\n"), "x\n");
    proxy.black_hole(way);
    old.send("y\n");
    Caller fresh(proxy.port());
    fresh.send("z\n");
    EXPECT_EQ(old.receive(50ms) + fresh.receive(50ms), "");
    if (way == Way::to_client) {
      EXPECT_TRUE(eventually([&] { return server.lines == before + 3; }));
    } else {
      EXPECT_EQ(server.lines, before + 1);
    }
    proxy.heal();
    EXPECT_EQ(old.receive(), "y\n");
    EXPECT_EQ(fresh.receive(), "z\n");
    EXPECT_EQ(old.ask("w\n"), "w\n");
  }
}

TEST_F(Proxy, TellsOfAnEndOnlyAfterTheBlackHole) {
  Caller a(proxy.port());
  EXPECT_EQ(a.ask("x\n"), "x\n");
  proxy.black_hole(Way::both);
  a.close();
  EXPECT_EQ(server.ended, 0);
  proxy.heal();
  EXPECT_TRUE(eventually([&] { return server.ended == 1; }));
}

TEST_F(Proxy, RefusesNewConnections) {
  Caller a(proxy.port());
  EXPECT_EQ(a.ask("x\n"), "x\n");
  for (int i = 0; i < 2; ++i) {
    proxy.refuse();
    EXPECT_THROW(Caller(proxy.port()), boost::system::system_error);
    EXPECT_EQ(a.ask("y\n"), "y\n");
    proxy.heal();
    EXPECT_EQ(Caller(proxy.port()).ask("z\n"), "z\n");
  }
}

TEST_F(Proxy, CutsAll) {
  Caller a(proxy.port());
  EXPECT_EQ(a.ask("x\n"), "x\n");
  proxy.cut_all();
  EXPECT_EQ(a.receive(), "RESET");
  EXPECT_EQ(Caller(proxy.port()).ask("y\n"), "y\n");
}

// Asks on new connections until the weather has caught one; returns what that one got.
std::string caught(TcpProxy& proxy, const TcpProxy::Weather& weather) {
  proxy.weather(weather);
  for (int i = 0; i < 1000; ++i) {
    Caller caller(proxy.port());
    const std::string answer = caller.ask("hello\n");
    if (proxy.hits() > 0) return answer;
    EXPECT_EQ(answer, "hello\n");
  }
  return "nobody";
}

TEST_F(Proxy, WeatherResetsBeforeTheServerHears) {
  EXPECT_EQ(caught(proxy, {.reset = 1}), "RESET");
  EXPECT_EQ(server.lines, 0);
}

TEST_F(Proxy, WeatherCutsReplies) {
  EXPECT_EQ(caught(proxy, {.cut = 1, .most_passed = 0}), "RESET");
  EXPECT_EQ(server.lines, 1);
}

TEST_F(Proxy, WeatherHoldsRequestsAndTheyComeLate) {
  proxy.weather({.hold = 1, .shortest_hold = 200ms, .longest_hold = 200ms});
  const TimePoint began = BootClock::now();
  {
    Caller caller(proxy.port());
    caller.send("late\n");
    EXPECT_TRUE(eventually([&] { return proxy.holding() == 1; }));
    proxy.heal();  // a held request still arrives, although nobody waits for it
  }
  EXPECT_TRUE(eventually([&] { return server.lines == 1; }));
  EXPECT_GE(BootClock::now() - began, 200ms);
  EXPECT_EQ(proxy.holding(), 0U);
  EXPECT_EQ(Caller(proxy.port()).ask("x\n"), "x\n");
}

TEST_F(Proxy, WeatherHalfClosesEitherSide) {
  int client_heard_end = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::string answer = caught(proxy, {.half_close = 1, .seed = seed});
    if (answer == "EOF") ++client_heard_end;
  }
  EXPECT_TRUE(eventually([&] { return server.lines == 20; }));
  EXPECT_GT(client_heard_end, 0);
  EXPECT_LT(client_heard_end, 20);
}

TEST_F(Proxy, WeatherGoesBySeeds) {
  const auto fates = [&](std::uint64_t seed) {
    proxy.weather({.reset = 0.5, .seed = seed});
    std::string all;
    for (int i = 0; i < 20; ++i) all += Caller(proxy.port()).ask("x\n")[0];
    return all;
  };
  EXPECT_EQ(fates(1), fates(1));
  EXPECT_NE(fates(1), fates(2));
}

TEST_F(Proxy, ForwardsToAnother) {
  EchoServer other;
  Caller a(proxy.port());
  EXPECT_EQ(a.ask("x\n"), "x\n");
  proxy.forward_to(other.port());
  EXPECT_EQ(a.ask("x\n"), "x\n");
  EXPECT_EQ(Caller(proxy.port()).ask("y\n"), "y\n");
  EXPECT_EQ(server.lines, 2);
  EXPECT_EQ(other.lines, 1);
}

TEST(ProxyWithoutServer, EndsConnections) {
  std::uint16_t port = 0;
  {
    EchoServer gone;
    port = gone.port();
  }
  TcpProxy proxy(port);
  EXPECT_EQ(Caller(proxy.port()).receive(), "RESET");
}

}  // namespace
}  // namespace lockset::test
