// Internals of TcpProxy: one connection that it forwards, and what to do to it. Only the proxy's
// thread uses this.
#pragma once

#include <array>
#include <boost/asio.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "tests/support/tcp_proxy.h"

namespace lockset::test {

// State of the whole proxy.
struct ProxyState {
  // What to do to the next request.
  struct Trap {
    enum class Kind : std::uint8_t { cut_reply, change_reply, hold_request };
    Kind kind;
    std::size_t pass = 0;  // this many bytes of the reply stay unchanged
    TcpProxy::Ending ending = TcpProxy::Ending::reset;
  };

  std::optional<Trap> trap;
  std::string bait;  // it catches requests that begin with this
  bool caught = false;
  bool blocked_to_server = false;
  bool blocked_to_client = false;
  std::chrono::milliseconds delay{0};  // for what the server sends
  std::optional<TcpProxy::Weather> weather;
  std::mt19937_64 dice;
  std::size_t hits = 0;  // requests caught by the weather
  std::function<void()> reset_all;
};

// The connection of one client, and the matching one to the server.
class TcpLink : public std::enable_shared_from_this<TcpLink> {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  using Error = boost::system::error_code;

  TcpLink(ProxyState& state, Socket client);

  void start(const boost::asio::ip::tcp::endpoint& server);
  [[nodiscard]] bool open() const { return client_.is_open() || server_.is_open(); }
  [[nodiscard]] std::size_t round_trips() const { return round_trips_; }
  void reset_count() { round_trips_ = 0; }
  void expose(bool to_trap) { exposed_ = to_trap; }
  [[nodiscard]] bool holds() const { return !held_.empty(); }
  void deliver_held();
  void go_on();  // called after a block is lifted
  void end(TcpProxy::Ending ending);

 private:
  struct Flow {
    bool to_server;
    std::array<char, 16384> buffer{};
    std::size_t size = 0;  // of the buffer's content
    bool parked = false;   // it came while the way was blocked
    Error parked_error{};
  };

  static void close(Socket& socket, TcpProxy::Ending ending);
  [[nodiscard]] bool blocked(const Flow& flow) const;
  void read(Flow& flow);
  void arrived(Flow& flow, Error error, std::size_t size);
  void ended(const Flow& flow, Error error);
  void from_client(Flow& flow);
  [[nodiscard]] bool caught_by_weather();
  void from_server(Flow& flow);
  void write(Flow& flow, Socket& to, std::size_t size);
  void end_when_silent();

  ProxyState& state_;
  Socket client_;
  Socket server_;
  boost::asio::steady_timer silence_;
  boost::asio::steady_timer on_its_way_;
  boost::asio::steady_timer late_;
  Flow up_{.to_server = true};
  Flow down_{.to_server = false};
  bool exposed_ = false;                     // to the trap
  std::optional<ProxyState::Trap> cutting_;  // what to do to its reply
  std::optional<std::size_t> changing_;      // this byte of its reply
  bool holding_ = false;
  std::string held_;
  bool delivering_ = false;
  bool client_told_end_ = false;  // it gets nothing more
  bool tell_server_end_ = false;  // once the request has left
  bool asked_ = false;            // the client spoke last
  std::size_t round_trips_ = 0;
};

}  // namespace lockset::test
