// One session with the ensemble: a connection that the client library keeps, mends and
// moves from server to server by itself, and the ephemeral nodes that live with it.
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

// Thread-safe. Its destructor must not run on one of the client library's threads: what
// their callbacks reach holds no Session.
class Session {
 public:
  // Counts the connections of all sessions of one client.
  using Connections = std::shared_ptr<std::atomic<ConnectionNumber>>;
  // Begins to connect, and returns at once but for the look-up of the servers' names. `handshake`:
  // see ignored().
  static Result<std::shared_ptr<Session>> open(
      const Options& options, Duration timeout, Duration handshake = Duration::max(),
      Connections connections = std::make_shared<std::atomic<ConnectionNumber>>(0));
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  // Ends the session, and with it the nodes that it owns. Takes up to some 3 s where the
  // server does not answer.
  ~Session();

  // Until it is connected. Errc::unavailable otherwise, where nobody listens at any server at once;
  // or Errc::misconfigured where it will never be.
  Status ready(TimePoint by);
  // While somebody waited for it to be ready, a server had taken its first connection and said
  // nothing for the time `handshake`. One that was just starting may never do so, and the client
  // library waits for two thirds of the timeout: another session may be there sooner.
  [[nodiscard]] bool ignored() const;

  // Sends these together, in this order, and waits for the replies: one round trip. An
  // error only where surely nothing was sent. What has no reply at `by` gets
  // ZOPERATIONTIMEOUT; when the last of them comes all the same, `late` is called with
  // all, on a thread of the client library: it must not block, nor call this object.
  using Late = std::function<void(const Replies&)>;
  // Called once they are on their way: what is asked in this session from then on comes
  // behind them. Not called where nothing is sent.
  using Submitted = std::function<void()>;
  // What changes nothing and sets no watch is asked again after a lost connection.
  Result<Replies> run(std::vector<Request> requests, TimePoint by, Late late = {},
                      const Submitted& submitted = {});

  // Not expired, as far as is known here.
  [[nodiscard]] bool alive() const;
  [[nodiscard]] bool connected() const;
  // The last that it made; 0 before the first. A request that is sent when this says N may be done
  // in a later one: its reply tells.
  [[nodiscard]] ConnectionNumber connection() const noexcept;
  // It lost a connection once, and may have made another one since.
  [[nodiscard]] bool was_cut() const;
  // Somebody gave up waiting for an answer of it that has not come since: what is asked
  // now had better go another way.
  [[nodiscard]] bool stuck() const;
  // The timeout that was asked for, and what the server made of it (0 before it is known).
  [[nodiscard]] Duration asked_timeout() const noexcept { return asked_timeout_; }
  [[nodiscard]] Duration timeout() const;
  // As in NodeStat::owner; 0 before it is known.
  [[nodiscard]] std::int64_t id() const;
  // Nodes that it makes from now on are for these; unset: for whom the address names.
  void set_acl(std::shared_ptr<const Acl> acl);
  // What its renewals write.
  [[nodiscard]] Beat& beat() noexcept { return beat_; }

 private:
  struct Native;
  Session(const Options& options, Duration timeout, Duration handshake, Connections connections);
  void begin(const Options& options);
  Result<Replies> send(std::vector<Request> requests, TimePoint by, Late late,
                       const Submitted& submitted);
  Status connected_for_multi(TimePoint by);

  const std::string where_;
  const std::string hosts_;
  const Duration asked_timeout_;
  const Duration handshake_;
  std::unique_ptr<Native> native_;
  Beat beat_;
};

}  // namespace lockset::zookeeper
