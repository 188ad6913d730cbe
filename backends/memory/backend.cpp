// The reference: it implements docs/semantics.md as directly as possible, under one mutex. Where
// speed and clarity disagree, clarity wins.
#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "backends/conversion.h"
#include "backends/memory/line.h"
#include "backends/schemes.h"
#include "core/wait_until.h"
#include "lockset/memory_backend.h"

namespace lockset {

class MemoryStore {
 public:
  explicit MemoryStore(const Clock& clock) : clock_(clock) {}
  // A copy of one instant; waiters stay with the original.
  MemoryStore(MemoryStore& other, const Clock& clock);

  Result<AcquireOutcome> try_acquire(const AcquireRequest& request);
  std::optional<Grant> resolve(const Token& token);
  RenewReply renew(std::string_view app, std::span<const RenewRequest> requests);
  bool release(Stamp stamp, std::optional<std::string_view> app);
  void await_change(std::uint64_t seen, TimePoint until, const std::stop_token& stop);
  bool has_changed(std::uint64_t seen);
  void end_wait(std::uint64_t waiter);
  Inspection inspect(const InspectQuery& query);
  SpaceConfig load_config();
  SpaceConfig change_config(const ConfigChange& change);
  Result<std::size_t> reclaim(std::string_view app, std::int64_t epoch);
  std::size_t sweep();
  ObserveOutcome observe(const ObserveRequest& request);
  std::size_t sweep_traces(Duration unobserved);
  // Null: the machine's clock.
  [[nodiscard]] const Clock* clock() const noexcept {
    return &clock_ == &real_clock() ? nullptr : &clock_;
  }

 private:
  struct HoldRecord {
    LockSet set;
    Token token;
    std::shared_ptr<const Owner> owner;
    std::chrono::system_clock::time_point since;
    TimePoint expires;  // TimePoint::max(): permanent
  };
  struct NameState {
    // The live holds on one name, and the mode that all of them have: readers and writers never
    // hold together.
    std::vector<Stamp> stamps;  // ascending
    Mode mode = Mode::read;
  };
  using Holds = std::unordered_map<Stamp, HoldRecord>;
  struct TraceRecord {
    Stamp last_write;
    std::string label;
    std::optional<TimePoint> written;  // unset: not known
    TimePoint observed;
  };

  // All of these REQUIRE mutex_. `now` is the moment of the step, which reads the clock once.
  static bool expired(const HoldRecord& hold, TimePoint now) { return hold.expires <= now; }
  Holds::iterator find_live(Stamp stamp, TimePoint now);
  Holds::iterator end_hold(Holds::iterator hold);
  void announce_change();
  // The hold that the request replaces; end() if it replaces none, or if that one is not live.
  Holds::iterator find_replaced(const AcquireRequest& request, TimePoint now);
  std::optional<Grant> twin(const AcquireRequest& request, TimePoint now);
  Grant live_grant(Holds::const_iterator hold, TimePoint now);
  void remove_expired_on(const std::string& name, TimePoint now);
  std::optional<Busy> blocker(const AcquireRequest& request, TimePoint now);
  std::optional<Busy> kept(const AcquireRequest& request, std::uint64_t waiter, TimePoint now);
  [[nodiscard]] Trace trace_of(const std::string& name, TimePoint now) const;
  std::optional<Changed> changed(const AcquireRequest& request, TimePoint now) const;
  [[nodiscard]] std::vector<Stamp> others_on(const std::string& name,
                                             const AcquireRequest& request) const;
  void raise_version(std::int64_t before);
  Stamp draw_stamp(Stamp at_least, std::chrono::system_clock::time_point wall);
  std::shared_ptr<const Owner> shared(const Owner& owner);

  const Clock& clock_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  int waiting_ = 0;            // for changed_
  std::uint64_t changes_ = 0;  // grows whenever a taken name may have become free
  SpaceConfig config_;
  Stamp last_stamp_;
  Holds holds_;
  std::shared_ptr<const Owner> last_owner_;  // most holds have the same owner, and share it
  // Names without holds have no entry.
  std::unordered_map<std::string, NameState> names_;
  Line line_;
  // Of the names that somebody observed.
  std::unordered_map<std::string, TraceRecord> traces_;
};

namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;

Mode other_than(Mode mode) { return mode == Mode::read ? Mode::write : Mode::read; }

class MemoryTicket final : public WaitTicket {
 public:
  MemoryTicket(std::uint64_t place, std::uint64_t changes) : waiter(place), seen(changes) {}
  const std::uint64_t waiter;  // its number in the line
  const std::uint64_t seen;    // the value of changes_ at the busy answer
};

std::uint64_t waiter_of(const AcquireRequest& request) {
  return request.ticket ? static_cast<const MemoryTicket&>(*request.ticket).waiter
                        : Line::no_waiter;
}

std::int64_t us_since_1970(std::chrono::system_clock::time_point wall) {
  return duration_cast<microseconds>(wall.time_since_epoch()).count();
}

std::int64_t store_time_us(TimePoint now) {
  return duration_cast<microseconds>(now.time_since_epoch()).count();
}

}  // namespace

MemoryStore::MemoryStore(MemoryStore& other, const Clock& clock) : clock_(clock) {
  const std::lock_guard lock(other.mutex_);
  config_ = other.config_;
  last_stamp_ = other.last_stamp_;
  holds_ = other.holds_;
  last_owner_ = other.last_owner_;
  names_ = other.names_;
  traces_ = other.traces_;
}

MemoryStore::Holds::iterator MemoryStore::find_live(Stamp stamp, TimePoint now) {
  const auto hold = holds_.find(stamp);
  if (hold != holds_.end() && expired(hold->second, now)) {
    end_hold(hold);
    return holds_.end();
  }
  return hold;
}

MemoryStore::Holds::iterator MemoryStore::end_hold(Holds::iterator hold) {
  line_.wake(hold->second.set, clock_.now());
  for (const LockRequest& item : hold->second.set.items()) {
    const auto name = names_.find(item.name);
    std::erase(name->second.stamps, hold->first);
    if (name->second.stamps.empty()) names_.erase(name);
  }
  announce_change();
  return holds_.erase(hold);
}

void MemoryStore::announce_change() {
  ++changes_;
  if (waiting_ > 0) changed_.notify_all();
}

void MemoryStore::remove_expired_on(const std::string& name, TimePoint now) {
  const auto state = names_.find(name);
  if (state == names_.end()) return;
  const std::vector<Stamp> stamps = state->second.stamps;  // end_hold changes the original
  for (const Stamp stamp : stamps) find_live(stamp, now);
}

MemoryStore::Holds::iterator MemoryStore::find_replaced(const AcquireRequest& request,
                                                        TimePoint now) {
  if (request.replaces == nullptr) return holds_.end();
  const auto hold = find_live(request.replaces->stamp, now);
  const bool ours = hold != holds_.end() && hold->second.owner->app == request.owner->app;
  return ours ? hold : holds_.end();
}

// The holds on this name that count: not the one that the request replaces.
std::vector<Stamp> MemoryStore::others_on(const std::string& name,
                                          const AcquireRequest& request) const {
  const auto state = names_.find(name);
  if (state == names_.end()) return {};
  std::vector<Stamp> stamps = state->second.stamps;
  if (request.replaces != nullptr) std::erase(stamps, request.replaces->stamp);
  return stamps;
}

std::optional<Busy> MemoryStore::blocker(const AcquireRequest& request, TimePoint now) {
  std::optional<Busy> busy;
  TimePoint first_end = TimePoint::max();
  for (std::size_t i = 0; i < request.set->size(); ++i) {
    const LockRequest& item = request.set->items()[i];
    const std::vector<Stamp> others = others_on(item.name, request);
    if (others.empty()) continue;
    const Mode mode = names_.at(item.name).mode;
    if (mode == item.mode && others.size() + 1 <= request.permits[i]) continue;
    const Stamp oldest = others.front();
    if (!busy) {
      busy = Busy{item.name, mode, oldest, holds_.at(oldest).owner->label, {}, {}};
    }
    for (const Stamp stamp : others) {
      first_end = std::min(first_end, holds_.at(stamp).expires);
    }
  }
  if (busy && first_end != TimePoint::max()) {
    busy->retry_after = std::max(first_end - now, Duration::zero());
  }
  return busy;
}

// A name is kept for a waiter that has been overtaken often enough: towards all who came later, it
// counts as a hold. REQUIRES: no hold is in the way.
std::optional<Busy> MemoryStore::kept(const AcquireRequest& request, std::uint64_t waiter,
                                      TimePoint now) {
  if (line_.empty() || request.max_overtakes == unlimited_overtakes) return {};
  for (std::size_t i = 0; i < request.set->size(); ++i) {
    const LockRequest& item = request.set->items()[i];
    const Line::Kept kept = line_.kept(item.name, waiter, request.max_overtakes, now);
    const std::size_t own = others_on(item.name, request).size() + kept.of(item.mode);
    const std::size_t other = kept.of(other_than(item.mode));
    if (own + 1 <= request.permits[i] && other == 0) continue;
    if (line_.prod(kept.first, now)) announce_change();
    Busy busy;
    busy.name = item.name;
    busy.mode = other > 0 ? other_than(item.mode) : item.mode;
    busy.holder_label = "the queue, for " + line_.label_of(kept.first);
    busy.retry_after = line_.counts_until(kept.first) - now;
    return busy;
  }
  return {};
}

// Without a trace its last_write is 0.
Trace MemoryStore::trace_of(const std::string& name, TimePoint now) const {
  Trace trace;
  const auto record = traces_.find(name);
  if (record != traces_.end()) {
    // A base above it says that later stamps may be missing here.
    const bool known = record->second.last_write >= config_.stamp_base;
    trace.last_write = std::max(record->second.last_write, config_.stamp_base);
    if (known) trace.label = record->second.label;
    if (known && record->second.written) {
      trace.age_us = duration_cast<microseconds>(now - *record->second.written).count();
    }
  }
  const auto state = names_.find(name);
  trace.being_written = state != names_.end() && state->second.mode == Mode::write;
  return trace;
}

std::optional<Changed> MemoryStore::changed(const AcquireRequest& request, TimePoint now) const {
  for (const Expected& expected : request.unchanged_since) {
    Trace trace = trace_of(request.set->items()[expected.item].name, now);
    if (!trace.last_write || trace.last_write != expected.last_write) {
      return Changed{expected.item, std::move(trace)};
    }
  }
  return {};
}

ObserveOutcome MemoryStore::observe(const ObserveRequest& request) {
  const std::lock_guard lock(mutex_);
  if (request.config_version != config_.version) return Stale{};
  const TimePoint now = clock_.now();
  std::vector<Trace> traces;
  for (const std::string& name : request.names) {
    remove_expired_on(name, now);
    const auto [record, made] = traces_.try_emplace(name);
    if (made) record->second.last_write = draw_stamp({}, clock_.wall());
    record->second.observed = now;
    traces.push_back(trace_of(name, now));
  }
  return traces;
}

std::size_t MemoryStore::sweep_traces(Duration unobserved) {
  const std::lock_guard lock(mutex_);
  const TimePoint now = clock_.now();
  return std::erase_if(traces_,
                       [&](const auto& each) { return now - each.second.observed >= unobserved; });
}

Stamp MemoryStore::draw_stamp(Stamp at_least, std::chrono::system_clock::time_point wall) {
  const Stamp next{last_stamp_.value + 1};
  const Stamp above_base{config_.stamp_base.value + 1};
  const Stamp of_wall{us_since_1970(wall)};
  last_stamp_ = std::max({next, above_base, at_least, of_wall});
  return last_stamp_;
}

// Raised to the calendar's time, so that no version is used again after a backup was restored or a
// space was made anew: a client would decide by the configuration that it once had under that
// version.
void MemoryStore::raise_version(std::int64_t before) {
  config_.version = std::max(before + 1, us_since_1970(clock_.wall()));
}

std::shared_ptr<const Owner> MemoryStore::shared(const Owner& owner) {
  if (!last_owner_ || *last_owner_ != owner) last_owner_ = std::make_shared<const Owner>(owner);
  return last_owner_;
}

Grant MemoryStore::live_grant(Holds::const_iterator hold, TimePoint now) {
  const TimePoint expires = hold->second.expires;
  Grant grant{hold->first,
              expires == TimePoint::max() ? Duration::max() : expires - now,
              store_time_us(now),
              {}};
  for (const LockRequest& item : hold->second.set.items()) {
    grant.floors.push_back(names_.at(item.name).stamps.front());
  }
  return grant;
}

// The earlier grant to the same request. Its hold covers all of the names, so any of them shows it.
std::optional<Grant> MemoryStore::twin(const AcquireRequest& request, TimePoint now) {
  const auto name = names_.find(request.set->items().front().name);
  if (name == names_.end()) return {};
  for (const Stamp stamp : name->second.stamps) {
    const auto hold = holds_.find(stamp);
    if (hold->second.token == request.token) return live_grant(hold, now);
  }
  return {};
}

Result<AcquireOutcome> MemoryStore::try_acquire(const AcquireRequest& request) {
  const std::lock_guard lock(mutex_);
  if (request.config_version != config_.version) return AcquireOutcome(Stale{});
  const TimePoint now = clock_.now();
  for (const LockRequest& item : request.set->items()) remove_expired_on(item.name, now);
  const std::uint64_t waiter = waiter_of(request);
  if (std::optional<Changed> found = changed(request, now)) {
    if (line_.leave(waiter)) announce_change();
    return AcquireOutcome(std::move(*found));
  }
  const auto replaced = find_replaced(request, now);
  if (request.replaces != nullptr && replaced == holds_.end()) {
    if (std::optional<Grant> again = twin(request, now)) return AcquireOutcome(std::move(*again));
    return AcquireOutcome(Gone{});
  }
  std::optional<Busy> busy = blocker(request, now);
  if (!busy) {
    if (std::optional<Grant> again = twin(request, now)) {
      line_.leave(waiter);
      return AcquireOutcome(std::move(*again));
    }
    if (!is_downgrade(request)) busy = kept(request, waiter, now);
  }
  if (busy) {
    if (request.will_wait) {
      const std::uint64_t place = line_.stand(waiter, *request.set, *request.owner, now);
      busy->ticket = std::make_shared<MemoryTicket>(place, changes_);
    }
    return AcquireOutcome(std::move(*busy));
  }
  if (!is_downgrade(request)) line_.overtake(*request.set, waiter, now);
  line_.leave(waiter);

  TimePoint expires = later(now, request.lease);
  if (replaced != holds_.end()) {
    expires = std::max(expires, replaced->second.expires);
    end_hold(replaced);
  }
  const auto wall = clock_.wall();
  Grant grant{draw_stamp(request.min_stamp, wall),
              expires == TimePoint::max() ? Duration::max() : expires - now,
              store_time_us(now),
              {}};
  const auto items = request.set->items();
  grant.floors.reserve(items.size());
  for (const LockRequest& item : items) {
    NameState& name = names_[item.name];
    name.mode = item.mode;
    name.stamps.push_back(grant.stamp);
    grant.floors.push_back(name.stamps.front());
    const auto trace = item.mode == Mode::write ? traces_.find(item.name) : traces_.end();
    if (trace == traces_.end()) continue;
    trace->second.last_write = grant.stamp;
    trace->second.label = request.owner->label;
    trace->second.written = now;
  }
  holds_.emplace(grant.stamp,
                 HoldRecord{*request.set, request.token, shared(*request.owner), wall, expires});
  return AcquireOutcome(std::move(grant));
}

// Looks at all holds: replies are lost only in tests.
std::optional<Grant> MemoryStore::resolve(const Token& token) {
  const std::lock_guard lock(mutex_);
  const TimePoint now = clock_.now();
  const auto hold = std::find_if(holds_.begin(), holds_.end(), [&](const auto& one) {
    return one.second.token == token && !expired(one.second, now);
  });
  if (hold == holds_.end()) return {};
  return live_grant(hold, now);
}

RenewReply MemoryStore::renew(std::string_view app, std::span<const RenewRequest> requests) {
  const std::lock_guard lock(mutex_);
  const TimePoint now = clock_.now();
  RenewReply reply;
  reply.store_time_us = store_time_us(now);
  for (const RenewRequest& request : requests) {
    const auto hold = find_live(request.hold.stamp, now);
    if (hold == holds_.end() || hold->second.owner->app != app) {
      reply.renewals.emplace_back();
      continue;
    }
    const TimePoint end = request.permanent ? TimePoint::max() : later(now, request.lease);
    TimePoint& expires = hold->second.expires;
    expires = std::max(expires, end);
    reply.renewals.emplace_back(
        Renewal{expires == TimePoint::max() ? Duration::max() : expires - now});
  }
  return reply;
}

bool MemoryStore::release(Stamp stamp, std::optional<std::string_view> app) {
  const std::lock_guard lock(mutex_);
  const auto hold = find_live(stamp, clock_.now());
  if (hold == holds_.end() || (app && hold->second.owner->app != *app)) return false;
  end_hold(hold);
  return true;
}

void MemoryStore::await_change(std::uint64_t seen, TimePoint until, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  ++waiting_;
  wait_until(changed_, lock, stop, until, [&] { return changes_ != seen; });
  --waiting_;
}

bool MemoryStore::has_changed(std::uint64_t seen) {
  const std::lock_guard lock(mutex_);
  return changes_ != seen;
}

// Others may have waited only because names were kept for this one.
void MemoryStore::end_wait(std::uint64_t waiter) {
  const std::lock_guard lock(mutex_);
  if (line_.leave(waiter)) announce_change();
}

Inspection MemoryStore::inspect(const InspectQuery& query) {
  const std::lock_guard lock(mutex_);
  const TimePoint now = clock_.now();
  Inspection result;
  for (const auto& [stamp, hold] : holds_) {
    const auto items = hold.set.items();
    HoldInfo info{stamp, {items.begin(), items.end()}, *hold.owner, hold.since, {}};
    if (expired(hold, now) || !query.matches(info.items)) continue;
    if (hold.expires != TimePoint::max()) info.remaining = hold.expires - now;
    result.holds.push_back(std::move(info));
  }
  std::sort(result.holds.begin(), result.holds.end(),
            [](const HoldInfo& a, const HoldInfo& b) { return a.stamp < b.stamp; });
  return result;
}

SpaceConfig MemoryStore::load_config() {
  const std::lock_guard lock(mutex_);
  return config_;
}

SpaceConfig MemoryStore::change_config(const ConfigChange& change) {
  const std::lock_guard lock(mutex_);
  const std::int64_t before = config_.version;
  config_ = lockset::changed(std::move(config_), change);
  if (config_.version != before) {
    raise_version(before);
    announce_change();
  }
  return config_;
}

Result<std::size_t> MemoryStore::reclaim(std::string_view app, std::int64_t epoch) {
  const std::lock_guard lock(mutex_);
  const TimePoint now = clock_.now();
  std::int64_t& current = config_.epochs[std::string(app)];
  if (current > epoch) {
    return Error{Errc::superseded, "a newer instance of application " + in_quotes(app) +
                                       " has taken over (epoch " + std::to_string(current) + ")"};
  }
  const auto own = find_live(Stamp{epoch}, now);
  if (own == holds_.end() || own->second.owner->app != app) {
    if (current == 0) config_.epochs.erase(std::string(app));
    return Error{Errc::not_held, "the hold " + std::to_string(epoch) + " of application " +
                                     in_quotes(app) + " has ended"};
  }
  if (current != epoch) raise_version(config_.version);
  current = epoch;
  std::size_t ended = 0;
  for (auto hold = holds_.begin(); hold != holds_.end();) {
    const Owner& owner = *hold->second.owner;
    const bool older = owner.app == app && owner.epoch < epoch && hold->first != Stamp{epoch};
    if (older && !expired(hold->second, now)) ++ended;
    hold = older ? end_hold(hold) : std::next(hold);
  }
  return ended;
}

std::size_t MemoryStore::sweep() {
  const std::lock_guard lock(mutex_);
  const TimePoint now = clock_.now();
  std::size_t removed = 0;
  for (auto hold = holds_.begin(); hold != holds_.end();) {
    const bool remove = expired(hold->second, now);
    hold = remove ? end_hold(hold) : std::next(hold);
    removed += remove ? 1 : 0;
  }
  line_.sweep(now);
  return removed;
}

namespace {

class MemoryBackend final : public Backend {
 public:
  explicit MemoryBackend(std::shared_ptr<MemoryStore> store) : store_(std::move(store)) {}

  [[nodiscard]] Traits traits() const override {
    Traits traits;
    traits.push_wakeup = true;
    traits.bounded_overtaking = true;
    traits.permanent_leases = true;
    traits.floors = true;
    traits.observing = true;
    traits.converting = true;
    traits.clock = store_->clock();
    return traits;
  }
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    return store_->try_acquire(request);
  }
  Result<std::optional<Grant>> resolve(const HoldRef& attempt, TimePoint) override {
    return store_->resolve(attempt.token);
  }
  Result<RenewReply> renew(const Owner& owner, std::span<const RenewRequest> requests,
                           TimePoint) override {
    return store_->renew(owner.app, requests);
  }
  Result<bool> release(const HoldRef& hold, std::string_view app, TimePoint) override {
    return store_->release(hold.stamp, app);
  }
  Result<bool> break_hold(const HoldRef& hold, TimePoint) override {
    return store_->release(hold.stamp, {});
  }
  Status await_change(WaitTicket& ticket, TimePoint until, std::stop_token stop) override {
    store_->await_change(static_cast<MemoryTicket&>(ticket).seen, until, stop);
    return {};
  }
  bool has_changed(WaitTicket& ticket, TimePoint) override {
    return store_->has_changed(static_cast<MemoryTicket&>(ticket).seen);
  }
  void end_wait(WaitTicket& ticket, TimePoint) override {
    store_->end_wait(static_cast<MemoryTicket&>(ticket).waiter);
  }
  Result<Inspection> inspect(const InspectQuery& query, TimePoint) override {
    return store_->inspect(query);
  }
  Result<SpaceConfig> load_config(TimePoint) override { return store_->load_config(); }
  Result<SpaceConfig> change_config(const ConfigChange& change, TimePoint) override {
    return store_->change_config(change);
  }
  Result<std::size_t> reclaim(std::string_view app, std::int64_t epoch, TimePoint) override {
    return store_->reclaim(app, epoch);
  }
  Result<std::size_t> sweep(TimePoint) override { return store_->sweep(); }
  Result<ObserveOutcome> observe(const ObserveRequest& request) override {
    return store_->observe(request);
  }
  Result<std::size_t> sweep_traces(Duration unobserved, TimePoint) override {
    return store_->sweep_traces(unobserved);
  }

 private:
  std::shared_ptr<MemoryStore> store_;
};

Status check_address(const Url& url) {
  if (url.has_authority || !url.path.empty() || !url.params.empty()) {
    return Error{Errc::invalid,
                 "memory: takes nothing behind the colon, but got " + url.redacted()};
  }
  return {};
}

Result<std::unique_ptr<Backend>> open_memory(const Url& url, TimePoint) {
  if (Status status = check_address(url); !status) return std::move(status).error();
  return make_memory_backend(make_memory_store());
}

Status init_memory(const Url& url, TimePoint) { return check_address(url); }

Result<std::vector<Finding>> examine_memory(const Url& url, TimePoint) {
  if (Status status = check_address(url); !status) return std::move(status).error();
  return std::vector<Finding>{{Finding::Level::warning, "memory",
                               "holds live in one process and die with it: for tests, and for "
                               "threads that share one Locks"}};
}

}  // namespace

std::shared_ptr<MemoryStore> make_memory_store(const Clock& clock) {
  return std::make_shared<MemoryStore>(clock);
}

std::shared_ptr<MemoryStore> copy_memory_store(MemoryStore& store, const Clock& clock) {
  return std::make_shared<MemoryStore>(store, clock);
}

std::unique_ptr<Backend> make_memory_backend(std::shared_ptr<MemoryStore> store) {
  return std::make_unique<MemoryBackend>(std::move(store));
}

constinit const Scheme memory_scheme{"memory",    "memory:", open_memory,
                                     init_memory, nullptr,   examine_memory};

}  // namespace lockset
