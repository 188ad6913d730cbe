// A TCP proxy on the loopback between a client and a server: counts round trips, and acts as a bad
// network on command.
//
// Thread-safety: all calls may come from any threads at once; they take effect before they return.
// The proxy has its own thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lockset::test {

class TcpProxy {
 public:
  // Forwards to this port of 127.0.0.1, or of another numeric address. Throws std::runtime_error.
  explicit TcpProxy(std::uint16_t server_port, const std::string& address = "127.0.0.1");
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;
  // Resets all connections.
  ~TcpProxy();

  // The port of 127.0.0.1 on which it listens.
  [[nodiscard]] std::uint16_t port() const noexcept;

  // A round trip: bytes from the client, then bytes from the server. A reply in pieces counts as
  // one, as does a request in pieces; unrequested bytes from the server count as none.
  [[nodiscard]] std::size_t round_trips() const;
  // The same for each connection accepted since the last reset, or open then.
  [[nodiscard]] std::vector<std::size_t> round_trips_by_connection() const;
  // The number accepted since the last reset.
  [[nodiscard]] std::size_t connections() const;
  [[nodiscard]] std::size_t open_connections() const;
  void reset_counts();
  // From now on everything from the server takes this long, as if it were far away. Otherwise a
  // client that sends several requests before it needs an answer may get the first answer between
  // two of them, and seem to take more round trips than it does.
  void far(std::chrono::milliseconds delay);
  // From now on new connections go there.
  void forward_to(std::uint16_t server_port, const std::string& address = "127.0.0.1");

  // --- what happens to one request ---
  // Each of these catches the next request on one of the connections that are open now; later
  // connections may be part of the client's preparation. It replaces one that has not caught its
  // request yet.

  // From now on only requests that begin with this, in one piece. At first: "", all of them.
  void catch_only(std::string_view beginning);

  enum class Ending : std::uint8_t {
    reset,
    close,
    reset_all,  // together with all other connections
  };
  // The request reaches the server and is done. `pass` bytes of the reply reach the client, and
  // then the connection ends. It ends only after the whole reply, so that the server has done its
  // work by then.
  void cut_next_reply(std::size_t pass = 0, Ending ending = Ending::reset);
  // The request reaches the server and is done. The byte after the first `pass` of the reply, which
  // must come together with them, is changed.
  void change_next_reply(std::size_t pass);
  // The request, and what follows on its connection, stays here until deliver_held(), even if the
  // client closes the connection meanwhile.
  void hold_next_request();
  // Delivers what is held. Returns the number of connections that had something.
  std::size_t deliver_held();
  // The last of these has taken effect: the connection is cut, the reply is changed, or the request
  // is held. A client that got the whole reply uses the connection until it is cut.
  [[nodiscard]] bool caught() const;

  // --- what happens to everything, until heal() ---

  enum class Way : std::uint8_t { to_server, to_client, both };
  // Nothing passes, and connections stay open, new ones too. heal() lets everything pass that has
  // come meanwhile.
  void black_hole(Way way);
  // New connections are refused.
  void refuse();

  // Random faults for requests: the probability of each; all other requests pass.
  struct Weather {
    double reset = 0;  // the connection is reset, and the request does not leave the proxy
    double cut = 0;    // as cut_next_reply, up to most_passed bytes of the reply pass
    std::size_t most_passed = 64;
    double hold = 0;  // the request comes this late, even if its client gives up meanwhile
    std::chrono::milliseconds shortest_hold{};
    std::chrono::milliseconds longest_hold{};
    double half_close = 0;  // the request passes; then one side gets nothing more from the other
    std::uint64_t seed = 0;
  };
  // A request that is held when the weather ends still comes late.
  void weather(const Weather& weather);
  // How many requests this weather, or the last one, has caught.
  [[nodiscard]] std::size_t hits() const;
  // Connections with held requests.
  [[nodiscard]] std::size_t holding() const;

  // Ends all of these, and far().
  void heal();

  // Resets the connections that are open now.
  void cut_all();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockset::test
