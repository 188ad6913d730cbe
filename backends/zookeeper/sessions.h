// The sessions of one client. A lease is the timeout of a session, so there is one session for each
// requested lease, and more if one would own too many nodes.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "backends/zookeeper/address.h"
#include "backends/zookeeper/session.h"
#include "lockset/clock.h"
#include "lockset/error.h"

namespace lockset::zookeeper {

// A closing session writes the paths of all its nodes into one transaction, and a server can't read
// a transaction of more than 1 MB again (ADR 0024).
inline constexpr std::size_t most_path_bytes = std::size_t{512} * 1024;

// The part of a session's timeout that every hold may rely on, counted from the sending of a
// request in it that was answered: see ADR 0024.
Duration safe_part(Duration timeout) noexcept;

// A new session that no server has answered for this long is replaced by another one; the next one
// gets twice as long, until one is answered: a server that is only slow must get its chance.
inline constexpr Duration first_handshake = std::chrono::seconds(3);

// Room in a session for the nodes of a hold or a waiter. Returns the room when destroyed.
class Seat {
 public:
  // REQUIRES: `bytes` have been added to `used`.
  Seat(std::shared_ptr<Session> session, std::shared_ptr<std::atomic<std::size_t>> used,
       std::size_t bytes)
      : session_(std::move(session)), used_(std::move(used)), bytes_(bytes) {}
  Seat(const Seat&) = delete;
  Seat& operator=(const Seat&) = delete;
  ~Seat() { *used_ -= bytes_; }

  [[nodiscard]] const std::shared_ptr<Session>& session() const noexcept { return session_; }

 private:
  std::shared_ptr<Session> session_;
  std::shared_ptr<std::atomic<std::size_t>> used_;
  std::size_t bytes_;
};

// Thread-safe.
class Sessions {
 public:
  explicit Sessions(const Options& options) : options_(options) {}
  Sessions(const Sessions&) = delete;
  Sessions& operator=(const Sessions&) = delete;
  ~Sessions();

  // For requests that no hold depends on. It is connected on return.
  Result<std::shared_ptr<Session>> general(TimePoint by);
  // The same, with room for a waiter's nodes.
  Result<std::unique_ptr<Seat>> waiting_seat(std::size_t path_bytes, TimePoint by);

  // For a hold with this lease, whose nodes' paths have this total length. Connected, with a
  // timeout that fits the lease; otherwise Errc::unsupported, with the server's limits.
  Result<std::unique_ptr<Seat>> seat(Duration lease, std::size_t path_bytes, TimePoint by);

  // It is not used any more, and is closed when its last user drops it.
  void forget(const std::shared_ptr<Session>& session);
  // The same, but tidy() closes it, and only when no hold in it can be valid any more: the holders
  // have not heard yet that they lost.
  void retire(const std::shared_ptr<Session>& session);

  // Ends sessions that have not been used for a long time, or are retired. May take some seconds.
  void tidy();

  // How many there are.
  [[nodiscard]] std::size_t count() const;

  // Nodes that any of them creates from now on have this list; empty: only for the user of the
  // address.
  void set_acl(const Acl& acl);
  // The same for the nodes of this session, which may have lost a connection: set_acl does not
  // reach it then.
  void give_acl(Session& session) const;
  // The user as which they authenticate; "" for none.
  [[nodiscard]] const std::string& user() const noexcept { return options_.user; }

  // The number of the last connection that any of them made. Data that is requested from now on is
  // at least as new as that.
  [[nodiscard]] ConnectionNumber connections() const noexcept { return *connections_; }

 private:
  struct Entry {
    std::shared_ptr<Session> session;
    std::shared_ptr<std::atomic<std::size_t>> used;
    TimePoint last_use;
    bool for_holds = false;
  };
  // The known limits of the server, and since when they are known.
  struct Bounds {
    std::optional<Duration> shortest;
    std::optional<Duration> longest;
    TimePoint learnt = TimePoint::min();
  };
  // It owns nothing, and nobody uses it. REQUIRES mutex_.
  static bool is_idle(const Entry& entry);
  // Takes out the one that has been idle for the longest time. REQUIRES mutex_.
  std::optional<Entry> make_room();
  struct Retired {
    std::shared_ptr<Session> session;
    TimePoint until;
  };
  // An entry with reserved room.
  struct Reserved {
    Entry entry;
    std::unique_ptr<Seat> seat;
    bool opened = false;  // just now
  };

  // A suitable session. REQUIRES mutex_.
  std::optional<Reserved> find(Duration timeout, bool for_holds, std::size_t path_bytes,
                               std::vector<Entry>& dead);
  // The same, or a new one, which may not be connected yet.
  Result<Reserved> take(Duration timeout, bool for_holds, std::size_t path_bytes, TimePoint by);
  // The same, and connected.
  Result<Reserved> connected(Duration timeout, bool for_holds, std::size_t path_bytes,
                             TimePoint by);
  static Reserved reserve(Entry& entry, std::size_t path_bytes);
  // An error if the known limits refuse this lease; else the timeout to request.
  Result<Duration> timeout_for(Duration lease) const;
  void learn_bounds(const Session& session);
  Status check_lease(Duration lease, Duration timeout) const;
  static void close(std::vector<std::shared_ptr<Session>> sessions);
  // Takes out what is to be closed. REQUIRES mutex_.
  void take_retired(TimePoint now, std::vector<std::shared_ptr<Session>>& ended);

  const Options options_;
  const Session::Connections connections_ = std::make_shared<std::atomic<ConnectionNumber>>(0);
  mutable std::mutex mutex_;
  std::condition_variable opened_;
  bool opening_ = false;
  std::vector<Entry> entries_;
  std::vector<Retired> retired_;
  Bounds bounds_;
  Duration handshake_ = first_handshake;
  std::shared_ptr<const Acl> acl_;
};

}  // namespace lockset::zookeeper
