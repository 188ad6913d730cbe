// The sessions of one client. A lease is the timeout of a session, so there is one for
// each lease that is asked for, and more of it where the nodes of one would become too many.
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

// A closing session writes the paths of all its nodes into one transaction, which a server
// can't read again when it is longer than 1 MB (ADR 0024).
inline constexpr std::size_t most_path_bytes = std::size_t{512} * 1024;

// Of a session with this timeout, how much every hold may count on from the moment at which
// a request in it was sent that was answered: see ADR 0024.
Duration safe_part(Duration timeout) noexcept;

// A new session that no server has answered for so long is given up for another one; the next for
// twice as long, until one is answered: a server that is slow and no more must get its chance.
inline constexpr Duration first_handshake = std::chrono::seconds(3);

// Room in a session for the nodes of a hold or a waiter. Gives it back when it goes.
class Seat {
 public:
  // `bytes` have been added to `used` already.
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

  // For work that no hold depends on. Connected when it is returned.
  Result<std::shared_ptr<Session>> general(TimePoint by);
  // The same with room for a waiter's nodes.
  Result<std::unique_ptr<Seat>> waiting_seat(std::size_t path_bytes, TimePoint by);

  // For a hold with this lease whose nodes' paths are so long together. Connected, and its
  // timeout fits the lease: else Errc::unsupported, naming what the server allows.
  Result<std::unique_ptr<Seat>> seat(Duration lease, std::size_t path_bytes, TimePoint by);

  // It is used no more, and closed when the last who has it lets it go.
  void forget(const std::shared_ptr<Session>& session);

  // Ends those that have not been used for long. May take some seconds.
  void tidy();

  // How many there are.
  [[nodiscard]] std::size_t count() const;

  // Nodes that any of them makes from now on are for these; empty: for whom the address names.
  void set_acl(const Acl& acl);
  // As whom they show themselves; "" for nobody.
  [[nodiscard]] const std::string& user() const noexcept { return options_.user; }

  // The number of the last connection that any of them made. What is asked for from now on is no
  // older than that.
  [[nodiscard]] ConnectionNumber connections() const noexcept { return *connections_; }

 private:
  struct Entry {
    std::shared_ptr<Session> session;
    std::shared_ptr<std::atomic<std::size_t>> used;
    TimePoint last_use;
    bool for_holds = false;
  };
  // What is known of the server's bounds, and since when.
  struct Bounds {
    std::optional<Duration> shortest;
    std::optional<Duration> longest;
    TimePoint learnt = TimePoint::min();
  };
  // Carries nothing, and nobody uses it. REQUIRES mutex_.
  static bool is_idle(const Entry& entry);
  // Takes out the one that has been idle for longest. REQUIRES mutex_.
  std::optional<Entry> make_room();
  // An entry with room that is reserved in it.
  struct Place {
    Entry entry;
    std::unique_ptr<Seat> seat;
    bool opened = false;  // just now
  };

  // One that is fit for it. REQUIRES mutex_.
  std::optional<Place> find(Duration timeout, bool for_holds, std::size_t path_bytes,
                            std::vector<Entry>& dead);
  // The same, or a new one, which need not be connected yet.
  Result<Place> take(Duration timeout, bool for_holds, std::size_t path_bytes, TimePoint by);
  // The same, and connected.
  Result<Place> connected(Duration timeout, bool for_holds, std::size_t path_bytes, TimePoint by);
  static Place reserve(Entry& entry, std::size_t path_bytes);
  // What is known already refuses this lease; else the timeout to ask for.
  Result<Duration> timeout_for(Duration lease) const;
  void learn_bounds(const Session& session);
  Status check_lease(Duration lease, Duration timeout) const;
  static void close(std::vector<Entry> entries);

  const Options options_;
  const Session::Connections connections_ = std::make_shared<std::atomic<ConnectionNumber>>(0);
  mutable std::mutex mutex_;
  std::condition_variable opened_;
  bool opening_ = false;
  std::vector<Entry> entries_;
  Bounds bounds_;
  Duration handshake_ = first_handshake;
  std::shared_ptr<const Acl> acl_;
};

}  // namespace lockset::zookeeper
