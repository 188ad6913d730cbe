// A TCP proxy on the loopback between a client and a server: counts round trips, and
// is a bad network when told to.
//
// Thread-safety: all calls may come from any threads at once; they take effect before
// they return. The proxy works on a thread of its own.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lockset::test {

class TcpProxy {
 public:
  // Forwards to this port of 127.0.0.1, or of another numeric address. Throws
  // std::runtime_error.
  explicit TcpProxy(std::uint16_t server_port, const std::string& address = "127.0.0.1");
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;
  // Resets all connections.
  ~TcpProxy();

  // Of 127.0.0.1, where it listens.
  [[nodiscard]] std::uint16_t port() const noexcept;

  // A round trip: bytes of the client, then bytes of the server. A reply in pieces is
  // one, as is a request in pieces; what the server says unasked is none.
  [[nodiscard]] std::size_t round_trips() const;
  // The same for each connection accepted since the last reset, or open then.
  [[nodiscard]] std::vector<std::size_t> round_trips_by_connection() const;
  // Accepted since the last reset.
  [[nodiscard]] std::size_t connections() const;
  [[nodiscard]] std::size_t open_connections() const;
  void reset_counts();
  // From now on what the server says takes this long, as from a far one. Without it a client
  // that sends several requests before it needs an answer may get the first answer between
  // two of them, and seem to take more round trips than it does.
  void far(std::chrono::milliseconds delay);
  // New connections go there from now on.
  void forward_to(std::uint16_t server_port, const std::string& address = "127.0.0.1");

  // --- one request's fate ---
  // Each catches the next request on one of the connections that are open now: those
  // that come later may be the client's way to get ready. It replaces one that has not
  // caught its request yet.

  enum class Ending : std::uint8_t {
    reset,
    close,
    reset_all,  // together with all other connections
  };
  // The request reaches the server and is done. `pass` bytes of the reply reach the
  // client, then the connection ends: once the server has said all, so that what it
  // did is done by then.
  void cut_next_reply(std::size_t pass = 0, Ending ending = Ending::reset);
  // The request reaches the server and is done. The byte behind the first `pass` of the reply,
  // which must come with them, is another one.
  void change_next_reply(std::size_t pass);
  // The request, and what follows on its connection, stays here until deliver_held();
  // it does so even if the client closes the connection meanwhile.
  void hold_next_request();
  // Hands over what is held. The number of connections for which something was.
  std::size_t deliver_held();
  // The last of these has done its work: the connection is cut, the reply is changed, or the
  // request is held. A client that got the whole reply uses the connection until it is cut.
  [[nodiscard]] bool caught() const;

  // --- everybody's fate, until heal() ---

  enum class Way : std::uint8_t { to_server, to_client, both };
  // Nothing passes, connections stay open, also new ones. heal() lets pass what has
  // come meanwhile.
  void black_hole(Way way);
  // New connections are refused.
  void refuse();

  // What befalls requests, by dice: the probability of each fate; all others pass.
  struct Weather {
    double reset = 0;  // the connection is reset, the request does not leave here
    double cut = 0;    // as cut_next_reply, up to most_passed bytes of the reply pass
    std::size_t most_passed = 64;
    double hold = 0;  // the request comes that late, even if its client gives up meanwhile
    std::chrono::milliseconds shortest_hold{};
    std::chrono::milliseconds longest_hold{};
    double half_close = 0;  // the request passes; then one side has heard the last of the other
    std::uint64_t seed = 0;
  };
  // What is held when the weather ends still comes late.
  void weather(const Weather& weather);
  // How many requests this weather, or the last one, has caught.
  [[nodiscard]] std::size_t hits() const;
  // Connections with requests that are held.
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
