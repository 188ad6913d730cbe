// The front door: open a lock space and take lock sets in it.
//
//   auto locks = lockset::open("sqlite:/var/lib/jobs/locks.db").value();
//   auto hold  = locks.acquire({write("ws2"), read("ws1")}, {.wait = 5s}).value();
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "lockset/backend.h"
#include "lockset/clock.h"
#include "lockset/error.h"
#include "lockset/hold.h"
#include "lockset/inspection.h"
#include "lockset/lock_set.h"
#include "lockset/observer.h"
#include "lockset/space_config.h"
#include "lockset/stamp.h"

namespace lockset {

// A lease of this length means: held until released (lease = none).
inline constexpr Duration no_lease = Duration::max();
// A wait of this length means: until granted.
inline constexpr Duration forever = Duration::max();

inline constexpr Duration default_lease = std::chrono::seconds(30);
inline constexpr Duration min_lease = std::chrono::seconds(1);

struct Options {
  // Who may release and renew by stamp. Empty: user@host of this process. 1 to 200
  // bytes, under the rules for names.
  std::string app{};
  // Take over from dead instances of the same application at open (semantics 12).
  // REQUIRES an explicit `app`.
  bool reclaim = false;
  // For people who look at `lockset status`. Empty: user@host:pid and the program.
  std::string label{};
  // Of every hold that asks for none of its own. At least 1 s, or no_lease. Unset:
  // 30 s, or the longest lease of the space if that is shorter.
  std::optional<Duration> lease{};
  // The most that one call to the store may take.
  Duration io_timeout = std::chrono::seconds(5);
  // How long an acquire that waits puts up with a store that does not answer.
  Duration store_patience = std::chrono::seconds(15);
  // How often the configuration is looked at while holds exist.
  Duration refresh_config = std::chrono::seconds(5);
  std::shared_ptr<Observer> observer{};
};

struct AcquireOptions {
  // One budget for the whole set. 0: a single try. `forever`: no deadline.
  Duration wait = forever;
  // Ends the wait early with Errc::cancelled.
  std::stop_token stop{};
  // Unset: the manager's lease.
  std::optional<Duration> lease{};
  // Unset: the manager's label.
  std::optional<std::string> label{};
};

struct TryOptions {
  std::optional<Duration> lease{};
  std::optional<std::string> label{};
};

class Manager;  // private to the core

// One client of one lock space: grants, renews and releases lock sets. Owns its
// connections, one thread that renews, and one that tells of losses; both start
// with the first hold. Movable, not copyable.
//
// Thread-safety: all calls may come from any threads at once; moving and
// destroying are for one thread, while no other call is under way.
//
// Destroying it releases every hold it still manages, within the I/O timeout. A
// callback of lost() must not destroy it: it would wait for its own thread.
// In a child of fork all calls of this one fail with Errc::invalid, and config() is empty: it opens
// its own. A SQLite file that was open at the fork is refused there (semantics 18): fork first.
// A moved-from Locks may only be destroyed or assigned to.
class Locks {
 public:
  Locks(Locks&&) noexcept = default;
  Locks& operator=(Locks&& other) noexcept;
  ~Locks();

  // Waits until the whole set is granted. Nothing is held while it waits.
  // Errors: timeout, cancelled, invalid, superseded, rolled_back, and store trouble.
  Result<Hold> acquire(std::vector<LockRequest> wanted, const AcquireOptions& options = {});
  Result<Hold> acquire(const LockSet& set, const AcquireOptions& options = {});

  // One try. Nothing at all (an empty optional) means contention, and only that.
  Result<std::optional<Hold>> try_acquire(std::vector<LockRequest> wanted,
                                          const TryOptions& options = {});
  Result<std::optional<Hold>> try_acquire(const LockSet& set, const TryOptions& options = {});

  // The plain form: a stamp, or 0 for contention and only that. The hold is renewed
  // until release_locks or until this object is destroyed.
  Result<Stamp> try_locks(std::vector<LockRequest> wanted, const TryOptions& options = {});
  // The plain form of acquire.
  Result<Stamp> acquire_locks(std::vector<LockRequest> wanted, const AcquireOptions& options = {});
  // Releases by stamp what this application holds, also holds of its other
  // processes. Errc::not_held if there is no such hold.
  Status release_locks(Stamp stamp);
  // Renews by stamp once, with the given lease or this manager's (no_lease makes it
  // permanent). Returns the effective lease. Errc::not_held if there is no such hold.
  Result<Duration> renew_locks(Stamp stamp, std::optional<Duration> lease = std::nullopt);
  // As Hold::valid for holds of the plain form; false for stamps not managed here.
  [[nodiscard]] bool valid(Stamp stamp) const noexcept;
  // As Hold::lost for holds of the plain form; a token that never stops for stamps
  // not managed here.
  [[nodiscard]] std::stop_token lost(Stamp stamp) const noexcept;

  // Who holds what and who waits.
  Result<Inspection> inspect(const InspectQuery& query = {});
  // Ends the hold with this stamp, whoever owns it. Its holder learns of it at the
  // next renewal, up to a third of its lease later: for emergencies.
  // Errc::not_held if there is no such hold.
  Status break_hold(Stamp stamp);

  // The configuration as cached here: never waits for the store, may be old. An
  // acquire never decides by an old one (semantics 7).
  [[nodiscard]] std::shared_ptr<const SpaceConfig> config() const;
  // Reads the configuration from the store.
  Result<SpaceConfig> load_config();
  // Changes the permits of a name, or of `*`; unset removes the entry.
  Status set_permits(std::string_view name, Mode mode, std::optional<std::uint32_t> permits);
  // Longest lease that this space grants.
  Status set_max_lease(Duration max_lease);

  [[nodiscard]] const std::string& app() const noexcept;
  [[nodiscard]] Traits traits() const;

 private:
  friend Result<Locks> open(std::unique_ptr<Backend> backend, Options options);
  explicit Locks(std::shared_ptr<Manager> manager) noexcept;
  std::shared_ptr<Manager> manager_;
};

// Opens the lock space at an address such as "sqlite:/path" or "memory:".
// Errors: invalid (address or options), misconfigured, unavailable, app_in_use.
Result<Locks> open(std::string_view url, Options options = {});
// The same over a backend made by the caller.
Result<Locks> open(std::unique_ptr<Backend> backend, Options options = {});

}  // namespace lockset
