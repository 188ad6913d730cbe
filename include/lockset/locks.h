// The main entry: open a lock space and take lock sets in it.
//
//   auto locks = lockset::open("sqlite:/var/lib/jobs/locks.db").value();
//   auto hold  = locks.acquire({write("ws2"), read("ws1")}, {.wait = 5s}).value();
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lockset/backend.h"
#include "lockset/clock.h"
#include "lockset/error.h"
#include "lockset/export.h"
#include "lockset/hold.h"
#include "lockset/inspection.h"
#include "lockset/lock_set.h"
#include "lockset/observation.h"
#include "lockset/observer.h"
#include "lockset/space_config.h"
#include "lockset/stamp.h"
#include "lockset/tried.h"

namespace lockset LOCKSET_EXPORT {

// A lease of this length means: held until released (lease = none).
inline constexpr Duration no_lease = Duration::max();
// A wait of this length means: until granted.
inline constexpr Duration forever = Duration::max();

inline constexpr Duration default_lease = std::chrono::seconds(30);
inline constexpr Duration min_lease = std::chrono::seconds(1);

struct Options {
  // The application: its processes may release and renew by stamp. Empty: user@host of this
  // process. 1 to 200 bytes, under the rules for names.
  std::string app{};
  // Take over from dead instances of the same application at open (semantics 12).
  // REQUIRES an explicit `app`.
  bool reclaim = false;
  // Shown to people by `lockset status`; cut at 500 bytes. Empty: user@host:pid and the program.
  std::string label{};
  // The lease of every hold whose own options set none. At least 1 s, or no_lease. Unset: 30 s, or
  // the longest lease of the space if that is shorter.
  std::optional<Duration> lease{};
  // The longest time that one call to the store may take.
  Duration io_timeout = std::chrono::seconds(5);
  // How long a waiting acquire retries while the store does not answer.
  Duration store_patience = std::chrono::seconds(15);
  // How long open, given an address, retries while the store does not answer: for programs that
  // start while their store restarts. 0: a single attempt. After a first failure, open retries
  // until this much time has passed; each attempt takes at most io_timeout. With `reclaim`, open
  // retries only the connecting, not the takeover.
  Duration open_patience{};
  // Ends the retries of open early, with Errc::cancelled.
  std::stop_token stop_opening{};
  // How often the configuration is read while holds exist.
  Duration refresh_config = std::chrono::seconds(5);
  std::shared_ptr<Observer> observer{};
  // The clock on which this client counts leases: when holds are valid, and when they are renewed.
  // Unset: the store's clock, which is the machine's unless a test made a memory store with its
  // own. open refuses any clock but the store's as Errc::invalid, because two holders could be
  // valid at the same time. It must outlive the Locks and all holds. Waits and timeouts run on the
  // machine's clock in any case. docs/testing-your-program.md shows a test.
  const Clock* clock = nullptr;
};

struct AcquireOptions {
  // How long to wait for the whole set. 0: a single try. `forever`: no deadline.
  Duration wait = forever;
  // Ends the wait early with Errc::cancelled.
  std::stop_token stop{};
  // Unset: as Options::lease.
  std::optional<Duration> lease{};
  // Unset: as Options::label.
  std::optional<std::string> label{};
  // Only its lease ends the hold if this process ends without releasing it: for work that other
  // processes do. Otherwise a store that can tell (SQLite) then ends it at once.
  bool outlives_process = false;
  // Grant only if no write was granted on any of the observed names since, decided in the granting
  // step. Otherwise the error `changed` says what was written, by whom and when. The set has to
  // contain every observed name; take as read what you only rely on. Unset: no condition.
  std::optional<Observation> unchanged_since{};
};

struct TryOptions {
  std::optional<Duration> lease{};
  std::optional<std::string> label{};
  bool outlives_process = false;
  std::optional<Observation> unchanged_since{};
};

class Manager;  // private to the core

// One client of one lock space: grants, renews and releases lock sets. It owns its connections, one
// thread that renews, one for housekeeping, and one that reports lost holds; they start with the
// first acquire, or at open with reclaim. Clients of servers have a few more threads; so has one
// that uses start_acquire. Movable, not copyable.
//
// Thread-safety: all calls may come from any threads at once. Move and destroy it from one thread,
// while no other call is under way.
//
// Destroying it releases every hold that it still manages, within Options::io_timeout: many at a
// time, but one by one over a `migrate:` address. Holds that are not released in time end with
// their leases. A callback of lost() must not destroy it: it would wait for its own thread.
//
// In a child of fork, all calls fail with Errc::invalid, and config() is empty: the child opens its
// own Locks. It can't open a SQLite file that was open at the fork (semantics 18): fork first, then
// open. A moved-from Locks may only be destroyed or assigned to.
class Locks {
 public:
  Locks(Locks&&) noexcept = default;
  Locks& operator=(Locks&& other) noexcept;
  ~Locks();

  // Waits until the whole set is granted. Nothing is held while it waits.
  // Errors: timeout, cancelled, superseded, rolled_back; changed, if there is a condition; invalid
  // for the set, the lease, the condition or a closed Locks; unsupported for what the store can't
  // do. From the store: misconfigured at once;
  // unavailable or indeterminate once Options::store_patience is used up; internal.
  Result<Hold> acquire(std::vector<LockRequest> wanted, const AcquireOptions& options = {});
  Result<Hold> acquire(const LockSet& set, const AcquireOptions& options = {});

  // The same without waiting: for programs that can't give each wait a thread. `done` is called
  // once, with what acquire returns, on one of at most four threads of this object that all such
  // calls share, or by this call if it fails at once. It must not throw, must not block, as the
  // others would wait, and must not destroy this object. A hold that it does not keep is released.
  // AcquireOptions::stop ends a wait within some milliseconds; but not a call to the store that is
  // under way. When this object is destroyed, open calls end with Errc::cancelled. lockset/asio.h
  // has it as an asynchronous operation.
  void start_acquire(std::vector<LockRequest> wanted, const AcquireOptions& options,
                     std::function<void(Result<Hold>)> done);
  void start_acquire(const LockSet& set, const AcquireOptions& options,
                     std::function<void(Result<Hold>)> done);

  // One try. An empty optional always means contention.
  Tried<std::optional<Hold>> try_acquire(std::vector<LockRequest> wanted,
                                         const TryOptions& options = {});
  Tried<std::optional<Hold>> try_acquire(const LockSet& set, const TryOptions& options = {});

  // The plain form: a stamp, or 0, which always means contention. The hold is renewed until
  // release_locks or until this object is destroyed.
  Tried<Stamp> try_locks(std::vector<LockRequest> wanted, const TryOptions& options = {});
  // The plain form of acquire.
  Result<Stamp> acquire_locks(std::vector<LockRequest> wanted, const AcquireOptions& options = {});
  // Releases by stamp a hold of this application, also one of its other processes. Errc::not_held
  // if there is no such hold.
  Status release_locks(Stamp stamp);
  // Renews by stamp once, with the given lease or Options::lease (no_lease makes it permanent).
  // Returns the effective lease. Errc::not_held if there is no such hold.
  Result<Duration> renew_locks(Stamp stamp, std::optional<Duration> lease = std::nullopt);
  // The plain forms of Hold::try_upgrade and Hold::downgrade, for a hold that this object manages;
  // Errc::not_held for any other. The new stamp, or 0: contention, and `stamp` is held as before.
  Tried<Stamp> try_upgrade_locks(Stamp stamp);
  Tried<Stamp> downgrade_locks(Stamp stamp);
  // As Hold::valid for holds of the plain form; false for stamps not managed here.
  [[nodiscard]] bool valid(Stamp stamp) const noexcept;
  // As Hold::lost for holds of the plain form; a token that never stops for stamps
  // not managed here.
  [[nodiscard]] std::stop_token lost(Stamp stamp) const noexcept;

  // Looks at these names (1 to 256, equal ones merge) without holding anything: see Observation.
  // One call to the store, which waits for no holder. If a write is granted on one of the names
  // after this was called, it changes what is observed, or it counts as a change. Errors: invalid
  // for the names or a closed Locks; unsupported unless Traits::observing; misconfigured,
  // unavailable, internal from the store.
  Result<Observation> observe(std::vector<std::string> names);
  // True: no write was granted on any of the names from the observation until this call, and none
  // was held when they were observed. So what was read meanwhile belongs together. One call to the
  // store, or none if the observation says enough. Errors as of observe.
  Result<bool> validate(const Observation& observation);
  // What validate finds, for each name that counts as changed; empty: validate is true.
  Result<std::vector<Change>> changes_since(const Observation& observation);

  // Who holds what and who waits.
  Result<Inspection> inspect(const InspectQuery& query = {});
  // Ends the hold with this stamp, whatever application owns it: for emergencies. Its holder learns
  // of it at the next renewal, up to a third of its lease later. Errc::not_held if there is no such
  // hold.
  Status break_hold(Stamp stamp);

  // The configuration as cached here: never waits for the store, and may be old. An acquire never
  // decides by an old one (semantics 7).
  [[nodiscard]] std::shared_ptr<const SpaceConfig> config() const;
  // Reads the configuration from the store.
  Result<SpaceConfig> load_config();
  // Changes the permits of a name, or of `*`; unset removes the entry.
  Status set_permits(std::string_view name, Mode mode, std::optional<std::uint32_t> permits);
  // Sets the longest lease that this space grants.
  Status set_max_lease(Duration max_lease);
  // Sets how often a waiter may be overtaken (SpaceConfig::max_overtakes). Errc::unsupported unless
  // Traits::bounded_overtaking.
  Status set_max_overtakes(std::uint32_t max_overtakes);

  [[nodiscard]] const std::string& app() const noexcept;
  [[nodiscard]] Traits traits() const;

 private:
  friend Result<Locks> open(std::unique_ptr<Backend> backend, Options options);
  explicit Locks(std::shared_ptr<Manager> manager) noexcept;
  std::shared_ptr<Manager> manager_;
};

// Opens the lock space at an address such as "sqlite:/path" or "memory:". Errors: invalid (address
// or options), misconfigured, unsupported (what this build or pair of stores can't do),
// unavailable, indeterminate (while reading the configuration), internal; cancelled by
// Options::stop_opening. With reclaim also app_in_use, and the errors of the takeover: superseded
// (a newer instance came first), rolled_back, unsupported (the lease, on ZooKeeper), not_held (the
// hold on the application id was lost meanwhile), indeterminate.
Result<Locks> open(std::string_view url, const Options& options = {});
// The same for `open(url, {})`. Without this overload, a program with <fcntl.h> and `using
// namespace lockset` would call the system's open, with {} for the flags.
struct NoOptions;
Result<Locks> open(const char* url, std::initializer_list<NoOptions> none);
// The same over a backend that the caller made; a single attempt.
Result<Locks> open(std::unique_ptr<Backend> backend, Options options = {});

}  // namespace LOCKSET_EXPORT
