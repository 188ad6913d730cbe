// redis+sentinel and redis+cluster: which server is the primary, by what a majority of the
// sentinels, or of the nodes of the cluster, says (ADR 0078).
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "backends/redis/address.h"
#include "backends/redis/connection.h"
#include "backends/server/socket_watchdog.h"
#include "core/machine.h"
#include "lockset/clock.h"
#include "lockset/error.h"

namespace lockset::redis {

// How long the answer of a majority counts, from when the sentinels were asked. A primary that was
// replaced grants nothing that begins later than this after the first client heard of its
// successor; so quarantines last that much longer (Script::text).
inline constexpr Duration sentinel_trust = std::chrono::seconds(1);

// What one sentinel said, or one node.
struct SentinelAnswer {
  Place primary;
  std::string id;             // of the sentinel's process
  std::size_t sentinels = 1;  // how many it knows, itself included
  std::size_t quorum = 0;     // how many of them begin a failover
  std::size_t replicas = 0;
  std::string epoch;  // of the configuration: grows with each failover
};

// Thread-safe. Each sentinel is asked by a thread of its own, so that one that is silent delays
// nobody while a majority answers.
class Sentinels {
 public:
  // `options` has to outlive it. Asks nobody yet.
  explicit Sentinels(const Options& options);
  Sentinels(const Sentinels&) = delete;
  Sentinels& operator=(const Sentinels&) = delete;
  // Waits for questions under way, for two seconds at most.
  ~Sentinels();

  // The server that a majority names, in answers to questions that were asked at most
  // sentinel_trust before the call; asks if there are none. A majority of all sentinels that they
  // know, so that another majority, which names another server, has one in common with it.
  //
  // Errc::unavailable if no majority answers, or they disagree; Errc::misconfigured, with the
  // remedy, if too many of them can't ever answer, or the address names too few.
  Result<Place> primary(TimePoint by);
  // What was said so far does not count any more: that server does not serve.
  void doubt();
  // The last one that primary() returned.
  [[nodiscard]] std::optional<Place> last() const;

  // For people: asks all of them, and returns what each one said, in the order of the address.
  std::vector<Result<SentinelAnswer>> ask_all(TimePoint by);

 private:
  struct Asker {
    Options options;  // of the sentinel as a server
    Thread thread;
    // Guarded by mutex_:
    bool wanted = false;
    bool busy = false;
    TimePoint asked =
        TimePoint::min();  // when the last answer, or the one under way, was asked for
    TimePoint answered_for = TimePoint::min();  // when `answer` was
    Result<SentinelAnswer> answer = Error{Errc::unavailable, "not asked yet"};
  };

  void start();
  void run(Asker& asker);
  [[nodiscard]] Result<SentinelAnswer> ask_node(const Asker& asker, Connection& node,
                                                TimePoint by) const;
  [[nodiscard]] Result<SentinelAnswer> ask(const Asker& asker,
                                           std::unique_ptr<Connection>& connection);
  // REQUIRES of all these: mutex_ is locked.
  void want(TimePoint not_before);
  [[nodiscard]] bool asking() const;
  [[nodiscard]] std::size_t majority() const;
  // `oldest`: when the oldest answer that counted was asked for.
  [[nodiscard]] std::optional<Place> agreed(TimePoint since, TimePoint& oldest) const;
  [[nodiscard]] Error why_not(TimePoint since) const;

  const Options& options_;
  server::SocketWatchdog watchdog_;  // outlives the threads
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool started_ = false;
  bool ending_ = false;
  TimePoint doubted_ = TimePoint::min();
  std::optional<Place> last_;
  std::vector<std::unique_ptr<Asker>> askers_;
};

}  // namespace lockset::redis
