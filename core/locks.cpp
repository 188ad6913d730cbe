#include "lockset/locks.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/machine.h"
#include "core/manager.h"
#include "core/time_math.h"
#include "lockset/registry.h"

namespace lockset {

Locks::Locks(std::shared_ptr<Manager> manager) noexcept : manager_(std::move(manager)) {}

Locks& Locks::operator=(Locks&& other) noexcept {
  if (this != &other) {
    Locks old(std::move(*this));  // closes at the end of the scope
    manager_ = std::move(other.manager_);
  }
  return *this;
}

Locks::~Locks() {
  if (!manager_) return;
  if (!manager_->in_child()) {
    manager_->close();
    return;
  }
  // These threads and connections belong to the parent: touching them, even to destroy them, could
  // hang here or disturb the parent. Leaking them is better.
  manager_->leak();
}

Result<Hold> Locks::acquire(const LockSet& set, const AcquireOptions& options) {
  Result<std::shared_ptr<HoldState>> hold = manager_->acquire(set, options, false);
  if (!hold) return std::move(hold).error();
  return Hold(std::move(*hold));
}

Result<Hold> Locks::acquire(std::vector<LockRequest> wanted, const AcquireOptions& options) {
  Result<LockSet> set = LockSet::make(std::move(wanted));
  if (!set) return std::move(set).error();
  return acquire(*set, options);
}

void Locks::start_acquire(const LockSet& set, const AcquireOptions& options,
                          std::function<void(Result<Hold>)> done) {
  manager_->start_acquire(
      set, options, [done = std::move(done)](Result<std::shared_ptr<HoldState>> hold) {
        done(hold ? Result<Hold>(Hold(std::move(*hold))) : std::move(hold).error());
      });
}

void Locks::start_acquire(std::vector<LockRequest> wanted, const AcquireOptions& options,
                          std::function<void(Result<Hold>)> done) {
  Result<LockSet> set = LockSet::make(std::move(wanted));
  if (!set) return done(std::move(set).error());
  start_acquire(*set, options, std::move(done));
}

Tried<std::optional<Hold>> Locks::try_acquire(const LockSet& set, const TryOptions& options) {
  Result<std::shared_ptr<HoldState>> hold =
      manager_->acquire(set,
                        {.lease = options.lease,
                         .label = options.label,
                         .outlives_process = options.outlives_process,
                         .unchanged_since = options.unchanged_since},
                        true);
  if (!hold) return std::move(hold).error();
  if (!*hold) return std::optional<Hold>();
  return std::optional<Hold>(Hold(std::move(*hold)));
}

Tried<std::optional<Hold>> Locks::try_acquire(std::vector<LockRequest> wanted,
                                              const TryOptions& options) {
  Result<LockSet> set = LockSet::make(std::move(wanted));
  if (!set) return std::move(set).error();
  return try_acquire(*set, options);
}

namespace {

// In the plain form only the manager owns the hold.
Tried<Stamp> stamp_of(Result<std::shared_ptr<HoldState>> hold) {
  if (!hold) return std::move(hold).error();
  return *hold ? (*hold)->stamp() : Stamp{};
}

}  // namespace

Tried<Stamp> Locks::try_locks(std::vector<LockRequest> wanted, const TryOptions& options) {
  Result<LockSet> set = LockSet::make(std::move(wanted));
  if (!set) return std::move(set).error();
  return stamp_of(manager_->acquire(*set,
                                    {.lease = options.lease,
                                     .label = options.label,
                                     .outlives_process = options.outlives_process,
                                     .unchanged_since = options.unchanged_since},
                                    true));
}

Result<Stamp> Locks::acquire_locks(std::vector<LockRequest> wanted, const AcquireOptions& options) {
  Result<LockSet> set = LockSet::make(std::move(wanted));
  if (!set) return std::move(set).error();
  return stamp_of(manager_->acquire(*set, options, false));
}

Status Locks::release_locks(Stamp stamp) { return manager_->release(stamp); }

Result<Duration> Locks::renew_locks(Stamp stamp, std::optional<Duration> lease) {
  return manager_->renew(stamp, lease);
}

Tried<Stamp> Locks::try_upgrade_locks(Stamp stamp) {
  return stamp_of(manager_->convert(stamp, Mode::write));
}

Tried<Stamp> Locks::downgrade_locks(Stamp stamp) {
  return stamp_of(manager_->convert(stamp, Mode::read));
}

bool Locks::valid(Stamp stamp) const noexcept {
  if (manager_->in_child()) return false;
  const auto hold = manager_->keeper().find(stamp);
  return hold && hold->valid();
}

std::stop_token Locks::lost(Stamp stamp) const noexcept {
  if (manager_->in_child()) return {};
  const auto hold = manager_->keeper().find(stamp);
  return hold ? hold->lost() : std::stop_token{};
}

Result<Observation> Locks::observe(std::vector<std::string> names) {
  std::vector<LockRequest> wanted;
  for (std::string& name : names) wanted.push_back(write(std::move(name)));
  const Result<LockSet> set = LockSet::make(std::move(wanted));
  if (!set) return set.error();
  names.clear();
  for (const LockRequest& item : set->items()) names.push_back(item.name);
  Result<std::vector<Trace>> traces = manager_->observe(names);
  if (!traces) return std::move(traces).error();
  std::vector<Observation::Item> items;
  for (std::size_t i = 0; i < names.size(); ++i) {
    items.push_back({std::move(names[i]), (*traces)[i].last_write, (*traces)[i].being_written});
  }
  return Observation::make(std::move(items));
}

Result<std::vector<Change>> Locks::changes_since(const Observation& observation) {
  return manager_->changes_since(observation);
}

Result<bool> Locks::validate(const Observation& observation) {
  const auto items = observation.items();
  const bool refuted = std::any_of(
      items.begin(), items.end(), [](const Observation::Item& item) { return item.being_written; });
  if (refuted) {
    if (Status status = manager_->usable(); !status) return std::move(status).error();
    return false;
  }
  const Result<std::vector<Change>> changes = manager_->changes_since(observation);
  if (!changes) return changes.error();
  return changes->empty();
}

Result<Inspection> Locks::inspect(const InspectQuery& query) {
  if (Status status = manager_->usable(); !status) return std::move(status).error();
  return manager_->backend().inspect(query, manager_->io_deadline());
}

Status Locks::break_hold(Stamp stamp) {
  if (Status status = manager_->usable(); !status) return status;
  Result<bool> broken = manager_->break_hold(stamp);
  if (!broken) return std::move(broken).error();
  if (*broken) return {};
  return Error{Errc::not_held, "stamp " + std::to_string(stamp.value) +
                                   " is not held: released, expired or broken already"};
}

std::shared_ptr<const SpaceConfig> Locks::config() const {
  // In a child, the cache's mutex may stay locked for ever.
  if (manager_->in_child()) return std::make_shared<const SpaceConfig>();
  return manager_->config().get();
}

Result<SpaceConfig> Locks::load_config() { return manager_->load_config(); }

Status Locks::set_permits(std::string_view name, Mode mode, std::optional<std::uint32_t> permits) {
  return manager_->change_config(SetPermits{std::string(name), mode, permits});
}

Status Locks::set_max_lease(Duration max_lease) {
  return manager_->change_config(SetMaxLease{max_lease});
}

Status Locks::set_max_overtakes(std::uint32_t max_overtakes) {
  return manager_->change_config(SetMaxOvertakes{max_overtakes});
}

const std::string& Locks::app() const noexcept { return manager_->owner().app; }

Traits Locks::traits() const { return manager_->backend().traits(); }

Result<Locks> open(std::unique_ptr<Backend> backend, Options options) {
  Result<std::shared_ptr<Manager>> manager = Manager::open(std::move(backend), std::move(options));
  if (!manager) return std::move(manager).error();
  return Locks(std::move(*manager));
}

namespace {

// The pause before the next attempt to open. It grows, so that clients leave the server room to
// start, and it is jittered, so that they do not all come at once when it has.
class OpeningPause {
 public:
  Duration next() {
    const Duration pause = thread_random().between(pause_ * 3 / 4, pause_ * 5 / 4);
    pause_ = std::min<Duration>(pause_ * 3 / 2, std::chrono::seconds(1));
    return pause;
  }

 private:
  Duration pause_ = std::chrono::milliseconds(20);
};

}  // namespace

Result<Locks> open(std::string_view url, const Options& options) {
  OpeningPause pause;
  std::optional<TimePoint> patient_until;
  for (;;) {
    Result<std::unique_ptr<Backend>> backend =
        open_backend(url, later(BootClock::now(), options.io_timeout));
    // A takeover may have left its hold behind: a second attempt would meet its own hold.
    const bool repeatable = !backend || !options.reclaim;
    Result<Locks> locks =
        backend ? open(std::move(*backend), options) : Result<Locks>(std::move(backend).error());
    if (locks || !repeatable) return locks;
    const Error& error = locks.error();
    if (!error.retryable() && !error.may_have_applied()) return locks;
    const TimePoint now = BootClock::now();
    if (!patient_until) patient_until = later(now, options.open_patience);
    if (now >= *patient_until) return locks;
    if (options.observer) {
      options.observer->on_event({.kind = Event::Kind::retried, .detail = error.message});
    }
    sleep_until(std::min(later(now, pause.next()), *patient_until), options.stop_opening);
    if (options.stop_opening.stop_requested()) {
      return Error{Errc::cancelled, "opening was cancelled: " + error.message};
    }
  }
}

struct NoOptions {};

Result<Locks> open(const char* url, std::initializer_list<NoOptions> /*none*/) {
  return open(std::string_view(url), Options{});
}

}  // namespace lockset
