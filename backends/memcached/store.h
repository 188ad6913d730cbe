// The open space: its connections, and how a step on its state is made.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "backends/memcached/address.h"
#include "backends/memcached/connection.h"
#include "backends/memcached/server_time.h"
#include "backends/memcached/step.h"
#include "backends/server/lanes.h"
#include "backends/server/retry.h"
#include "lockset/clock.h"
#include "lockset/error.h"

namespace lockset::memcached {

using server::Lane;

// What a step needs besides the state.
struct Ask {
  TimePoint by;
  Lane lane = Lane::common;
  bool exact_time = false;  // it grants or renews: an upper bound of the server's time
  bool grows = false;       // it must leave room for renewals
};

// What a client knows of the space. It puts that back if the server has lost it.
struct Seen {
  std::string life;
  SpaceConfig config;
  Stamp last_stamp;
  TimePoint at{};  // it was seen after that
  // Then there were leases that are longer than the configuration allows.
  bool longer = false;

  // How long a lease may last that was granted before now.
  [[nodiscard]] Duration longest(TimePoint now) const {
    return longer || now - at > knows ? longest_lease : config.max_lease;
  }
};

// Thread-safe.
class Store {
 public:
  explicit Store(Options options);

  // Reads the state, makes the step, and writes the state if the step changed it; again, if another
  // client was faster. `make` may run several times. An error of `make` means that nothing is
  // written.
  template <class T>
  Result<T> run(const Ask& ask, const std::function<Result<T>(Step&)>& make) {
    std::optional<Result<T>> answer;
    const Status status = run_any(ask, [&](Step& step) -> Status {
      answer = make(step);
      return answer->ok() ? Status() : Status(answer->error());
    });
    if (!status) return status.error();
    return *std::move(answer);
  }

  // Errc::misconfigured unless the server is fit and has the space in the form that this program
  // knows.
  Status check(TimePoint by);
  // Makes the space, unless it is there.
  Status init(TimePoint by);
  // Looks for a tick of the server's clock, so that no grant has to wait for one.
  Status refresh_time(TimePoint by);

  [[nodiscard]] const Options& options() const noexcept { return options_; }

 private:
  using Lanes = server::Lanes<Connection>;
  // The state as it was read. Without a state: there is no life of the space (life is empty), or it
  // has lost its state.
  struct View {
    std::string life;
    std::optional<State> state;
    std::uint64_t cas = 0;
  };

  Status run_any(const Ask& ask, const std::function<Status(Step&)>& make);
  Status run_once(Connection& connection, const Ask& ask, const std::function<Status(Step&)>& make,
                  server::Attempt& attempt);
  Result<View> look(Connection& connection, TimePoint by);
  // Makes a life of the space, or the state that it lacks; no error if somebody else was faster.
  Status restore(Connection& connection, const View& view, TimePoint by);
  // Begins a quarantine if something may have been lost, and puts back what is known.
  void recover(Step& step, const std::string& life, const std::optional<Seen>& seen) const;
  [[nodiscard]] Error forgotten() const;
  Status check_size(const std::string& text, bool grows) const;

  [[nodiscard]] std::optional<Seen> seen() const;
  void saw(const std::string& life, const Step& step, TimePoint at);

  const Options options_;
  const std::shared_ptr<ServerTime> time_;
  // While check() or init() runs, no thread waits for a connection beyond this deadline.
  std::atomic<TimePoint> open_by_ = TimePoint::max();
  std::atomic<std::size_t> most_bytes_ = 0;  // of an item; constant after check()
  mutable std::mutex mutex_;
  std::optional<Seen> seen_;  // guarded by mutex_
  Lanes lanes_;
};

// What no promise survives: the server has no cas ids, or its memory outlives it.
Status refuse_unsafe(const std::map<std::string, std::string>& settings, const Options& options);

}  // namespace lockset::memcached
