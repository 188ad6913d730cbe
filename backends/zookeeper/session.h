// A session with the ensemble: a connection that the client library keeps, repairs and moves from
// server to server on its own, and the ephemeral nodes that live with it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/zookeeper/address.h"
#include "backends/zookeeper/beat.h"
#include "backends/zookeeper/errors.h"
#include "backends/zookeeper/requests.h"
#include "lockset/clock.h"
#include "lockset/error.h"

namespace lockset::zookeeper {

// Thread-safe. Its destructor must not run on a thread of the client library: nothing that the
// callbacks reach owns a Session.
class Session {
 public:
  // Counts the connections of all sessions of one client.
  using Connections = std::shared_ptr<std::atomic<ConnectionNumber>>;
  // Begins to connect, and returns at once, except for the look-up of the servers' names.
  // `handshake`: see ignored().
  static Result<std::shared_ptr<Session>> open(
      const Options& options, Duration timeout, Duration handshake = Duration::max(),
      Connections connections = std::make_shared<std::atomic<ConnectionNumber>>(0));
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  // Ends the session, and with it the nodes that it owns. Takes up to some 3 s if the server does
  // not answer.
  ~Session();

  // Waits until it is connected. Otherwise Errc::unavailable, at once if no server listens; or
  // Errc::misconfigured if it will never connect.
  Status ready(TimePoint by);
  // True if, while a caller waited for it to be ready, a server accepted its first connection and
  // did not answer for the time `handshake`. A server that was just starting may never answer, and
  // the client library waits for two thirds of the timeout: another session may be ready sooner.
  [[nodiscard]] bool ignored() const;

  // Sends these together, in this order, and waits for the replies: one round trip. An error means
  // that certainly nothing was sent. A request without a reply at `by` gets ZOPERATIONTIMEOUT. When
  // the last reply still comes later, `late` is called with all replies, on a thread of the client
  // library: it must not block, nor call this object.
  using Late = std::function<void(const Replies&)>;
  // Called when the requests are under way: later requests in this session come after them. Not
  // called if nothing is sent.
  using Submitted = std::function<void()>;
  // Requests that change nothing and set no watch are repeated after a lost connection.
  Result<Replies> run(std::vector<Request> requests, TimePoint by, Late late = {},
                      const Submitted& submitted = {});
  // The same over the connection with this number. If it is known to be lost, nothing is sent, now
  // or later: Errc::unavailable. (It may be lost at that moment. Then the replies tell.)
  Result<Replies> run_in(ConnectionNumber connection, std::vector<Request> requests, TimePoint by,
                         Late late = {}, const Submitted& submitted = {});

  // The session has not expired, as far as is known here.
  [[nodiscard]] bool alive() const;
  [[nodiscard]] bool connected() const;
  // The number of the last connection that it made; 0 before the first. A request that is sent at
  // number N may be done in a later connection: its reply says which.
  [[nodiscard]] ConnectionNumber connection() const noexcept;
  // It has lost a connection, and may have made another one since.
  [[nodiscard]] bool was_cut() const;
  // A caller gave up waiting for an answer that has not come since: it is better to use another
  // session now.
  [[nodiscard]] bool stuck() const;
  // The requested timeout, and the one that the server granted (0 before it is known).
  [[nodiscard]] Duration asked_timeout() const noexcept { return asked_timeout_; }
  [[nodiscard]] Duration timeout() const;
  // As in NodeStat::owner; 0 before it is known.
  [[nodiscard]] std::int64_t id() const;
  // Nodes that it creates from now on have this list; unset: only for the user of the address.
  void set_acl(std::shared_ptr<const Acl> acl);
  // The node that its renewals write.
  [[nodiscard]] Beat& beat() noexcept { return beat_; }

 private:
  struct Native;
  Session(const Options& options, Duration timeout, Duration handshake, Connections connections);
  void begin(const Options& options);
  // `only_in`: 0 for any connection.
  Result<Replies> send(std::vector<Request> requests, TimePoint by, Late late,
                       const Submitted& submitted, ConnectionNumber only_in = 0);
  Status connected_for_multi(TimePoint by);

  const std::string where_;
  const std::string hosts_;
  const Duration asked_timeout_;
  const Duration handshake_;
  std::unique_ptr<Native> native_;
  Beat beat_;
};

}  // namespace lockset::zookeeper
