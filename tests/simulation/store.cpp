#include "tests/simulation/store.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "backends/conversion.h"
#include "backends/line_times.h"
#include "lockset/forwarding_backend.h"
#include "tests/simulation/convert_flaws.h"
#include "tests/simulation/trace_flaws.h"

namespace lockset::simulation {

using namespace std::chrono_literals;

namespace {

constexpr Duration far_ahead = 20s;

bool of_application(std::span<const LockRequest> items) {
  return items.front().name.starts_with("@app:");
}

}  // namespace

TimePoint StoreClock::now() const noexcept {
  const auto passed = static_cast<double>(world_.now().time_since_epoch().count());
  return TimePoint(Duration(std::llround(passed * rate_)) + ahead);
}

std::chrono::system_clock::time_point StoreClock::wall() const noexcept {
  if (no_calendar) return {};
  const Duration passed = world_.now().time_since_epoch() + wall_ahead;
  return std::chrono::system_clock::time_point(
      std::chrono::duration_cast<std::chrono::system_clock::duration>(1'700'000'000s + passed));
}

namespace {

// For this mistake: it has no calendar as long as it lives.
class NoCalendar {
 public:
  NoCalendar(StoreClock& clock, bool wrong) : clock_(clock) { clock_.no_calendar = wrong; }
  NoCalendar(const NoCalendar&) = delete;
  NoCalendar& operator=(const NoCalendar&) = delete;
  ~NoCalendar() { clock_.no_calendar = false; }

 private:
  StoreClock& clock_;
};

// Acts as a replica that is behind: changes nothing, and continues to answer.
class ReadOnly final : public ForwardingBackend {
 public:
  ReadOnly(std::unique_ptr<Backend> store, bool observes)
      : ForwardingBackend(std::move(store)), observes_(observes) {}
  Result<AcquireOutcome> try_acquire(const AcquireRequest&) override { return refused(); }
  Result<RenewReply> renew(const Owner&, std::span<const RenewRequest>, TimePoint) override {
    return refused();
  }
  Result<bool> release(const HoldRef&, std::string_view, TimePoint) override { return refused(); }
  Result<bool> break_hold(const HoldRef&, TimePoint) override { return refused(); }
  Result<SpaceConfig> change_config(const ConfigChange&, TimePoint) override { return refused(); }
  Result<std::size_t> reclaim(std::string_view, std::int64_t, TimePoint) override {
    return refused();
  }
  Result<std::size_t> sweep(TimePoint) override { return refused(); }
  // What it answered would be old.
  Result<ObserveOutcome> observe(const ObserveRequest& request) override {
    if (observes_) return inner().observe(request);
    return refused();
  }
  Result<std::size_t> sweep_traces(Duration, TimePoint) override { return refused(); }

 private:
  static Error refused() { return {Errc::unavailable, "the store is read-only"}; }
  const bool observes_;
};

}  // namespace

class SimulatedStore::Front final : public ForwardingBackend {
 public:
  Front(SimulatedStore& store, std::shared_ptr<MemoryStore> memory)
      : ForwardingBackend(
            with_convert_flaw(store.profile_.flaw,
                              with_trace_flaw(store.profile_.flaw,
                                              make_memory_backend(std::move(memory)), store.world_),
                              store.world_)),
        store_(store) {}

  Process* asking = nullptr;
  bool again = false;
  bool unheard = false;

  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    expire();
    const NoCalendar wrong(store_.clock_, store_.profile_.flaw == Flaw::counted_stamps);
    Result<AcquireOutcome> outcome = inner().try_acquire(in_line(request));
    const Busy* const busy = std::get_if<Busy>(&*outcome);
    if (busy != nullptr && !busy->holder) {
      ++store_.world_.counts["names kept for a waiter"];
      // The store has woken it just now.
      if (busy->retry_after == comes_within) store_.announce();
    }
    if (const Grant* grant = std::get_if<Grant>(&*outcome)) {
      const auto [at, fresh] = store_.fates_.try_emplace(grant->stamp);
      if (fresh) {  // otherwise the request was repeated, and this is the same grant
        at->second.token = request.token;
        at->second.process = asking;
        at->second.granted = store_.world_.now();
        at->second.of_application = of_application(request.set->items());
        at->second.reserved = is_reserved_name(request.set->items().front().name);
        at->second.epoch = request.owner->epoch;
        at->second.stray = again;
        const bool replaces =
            request.replaces != nullptr && request.replaces->stamp != grant->stamp;
        if (replaces) replace(request, grant->stamp);
        at->second.tag = migrate::tag_of(request.owner->instance);
        for (const LockRequest& item : request.set->items()) {
          if (item.mode == Mode::write)
            store_.last_writes_[item.name] = {request.token, store_.world_.now()};
        }
        // Nobody learns of it at once; the next attempt may be granted in addition.
        if (again || unheard) store_.note_stray(request);
      }
    }
    return outcome;
  }
  Result<RenewReply> renew(const Owner& owner, std::span<const RenewRequest> requests,
                           TimePoint by) override {
    expire();
    Result<RenewReply> reply = inner().renew(owner, requests, by);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const bool made = requests[i].permanent && reply->renewals[i];
      if (made) store_.fates_[requests[i].hold.stamp].permanent = true;
    }
    return reply;
  }
  Result<bool> release(const HoldRef& hold, std::string_view app, TimePoint by) override {
    expire();
    return ended(hold.stamp, Fate::End::released, inner().release(hold, app, by));
  }
  Result<bool> break_hold(const HoldRef& hold, TimePoint by) override {
    expire();
    return ended(hold.stamp, Fate::End::broken, inner().break_hold(hold, by));
  }
  // Others may have waited only because names were kept for this one.
  void end_wait(WaitTicket& ticket, TimePoint by) override {
    inner().end_wait(ticket, by);
    store_.announce();
  }
  Result<SpaceConfig> change_config(const ConfigChange& change, TimePoint by) override {
    const NoCalendar wrong(store_.clock_, store_.profile_.flaw == Flaw::counted_versions);
    Result<SpaceConfig> config = inner().change_config(change, by);
    if (store_.config_changed) store_.config_changed(*config);
    store_.announce();
    return config;
  }
  Result<std::size_t> reclaim(std::string_view app, std::int64_t epoch, TimePoint by) override {
    std::vector<Stamp> before;
    for (const auto& [stamp, fate] : store_.fates_) {
      if (fate.end == Fate::End::none && store_.live(stamp)) before.push_back(stamp);
    }
    const NoCalendar wrong(store_.clock_, store_.profile_.flaw == Flaw::counted_versions);
    Result<std::size_t> count = inner().reclaim(app, epoch, by);
    for (const Stamp stamp : before) {
      if (store_.live(stamp)) continue;
      Fate& fate = store_.fates_[stamp];
      fate.end = Fate::End::reclaimed;
      // Its holder relies on a hold on the application that a backup let end early.
      if (!store_.known_epochs_.contains(fate.epoch)) continue;
      store_.world_.record(history::Release{stamp});
      store_.world_.record(history::Released{stamp});
      ++store_.world_.counts["holds reclaimed too early after a restore"];
    }
    store_.announce();
    return count;
  }
  Result<std::size_t> sweep(TimePoint by) override {
    Result<std::size_t> removed = inner().sweep(by);
    if (*removed > 0) store_.announce();
    return removed;
  }

 private:
  // The request with the effect of a mistake in the line.
  AcquireRequest in_line(AcquireRequest request) {
    switch (store_.profile_.flaw) {
      case Flaw::forgotten_waiters:
        if (request.ticket) inner().end_wait(*std::exchange(request.ticket, nullptr), {});
        break;
      case Flaw::unbounded_overtaking:
        request.max_overtakes = unlimited_overtakes;
        break;
      case Flaw::one_overtake_more:
        if (request.max_overtakes != unlimited_overtakes) ++request.max_overtakes;
        break;
      default:
        break;
    }
    return request;
  }
  void replace(const AcquireRequest& request, Stamp successor) {
    const bool gives_up = is_downgrade(request);
    Fate& old = store_.fates_[request.replaces->stamp];
    old.end = gives_up ? Fate::End::downgraded : Fate::End::upgraded;
    old.ended_by = asking;
    old.successor = successor;
    store_.fates_[successor].permanent = old.permanent;
    ++store_.world_.counts[gives_up ? "holds downgraded" : "holds upgraded"];
    store_.announce();
  }
  // The end of a lease counts as the waking of those who wait for it, so they have to be told.
  void expire() { static_cast<void>(sweep(TimePoint::max()).ok()); }

  Result<bool> ended(Stamp stamp, Fate::End how, Result<bool> done) {
    if (!*done) return done;
    Fate& fate = store_.fates_[stamp];
    fate.end = how;
    fate.ended_by = asking;
    store_.announce();
    return done;
  }

  SimulatedStore& store_;
};

SimulatedStore::SimulatedStore(World& world, const Profile& profile, std::uint32_t actor)
    : world_(world),
      profile_(profile),
      actor_(actor),
      clock_(world, 1 + profile.drift),
      memory_(make_memory_store(clock_)),
      front_(std::make_unique<Front>(*this, memory_)) {}

SimulatedStore::~SimulatedStore() = default;

Backend& SimulatedStore::serve(Process* process, bool again, bool unheard, bool old) {
  auto* const front = old ? dynamic_cast<Front*>(demoted_.get()) : front_.get();
  if (front == nullptr) return *demoted_;
  front->asking = process;
  front->again = again;
  front->unheard = unheard;
  return *front;
}

bool SimulatedStore::live(Stamp stamp) {
  const Fate* const found = fate(stamp);
  if (found == nullptr || found->end != Fate::End::none) return false;
  const auto grant = front_->resolve(found->token, TimePoint::max());
  return *grant && (*grant)->stamp == stamp;
}

bool SimulatedStore::ended(Stamp stamp) const {
  const Fate* found = fate(stamp);
  const bool upgraded = found != nullptr && found->end == Fate::End::upgraded;
  while (found != nullptr && found->end == Fate::End::upgraded) found = fate(found->successor);
  if (found == nullptr) return false;
  switch (found->end) {
    case Fate::End::none:
    case Fate::End::forgotten:
    case Fate::End::upgraded:
    case Fate::End::downgraded:
      return false;
    case Fate::End::released:
      return !upgraded;
    case Fate::End::broken:
    case Fate::End::reclaimed:
      return true;
  }
  return false;
}

const Fate* SimulatedStore::fate(Stamp stamp) const {
  const auto at = fates_.find(stamp);
  return at == fates_.end() ? nullptr : &at->second;
}

std::optional<Truth::Write> SimulatedStore::last_write(const std::string& name) const {
  const auto at = last_writes_.find(name);
  return at == last_writes_.end() ? std::nullopt : std::optional(at->second);
}

Duration SimulatedStore::slack(Duration longest_lease) const {
  const double slow = std::max(0.0, -profile_.drift) * 1.05;
  return Duration(std::llround(static_cast<double>(longest_lease.count()) * slow)) + profile_.ahead;
}

void SimulatedStore::note_stray(const AcquireRequest& request) {
  ++world_.counts["strays"];
  if (is_reserved_name(request.set->items().front().name)) return;
  // Different from those of another store.
  const std::uint64_t op = std::uint64_t{actor_} << 32 | ++strays_;
  history::Ask ask{op, {}, request.lease, Duration::zero()};
  for (const LockRequest& item : request.set->items()) {
    ask.set.push_back({item.name, item.mode, 0});
  }
  world_.record(std::move(ask));
  if (request.replaces != nullptr) {
    world_.record(history::Replace{op, request.replaces->stamp});
  }
  world_.record(history::Unknown{op});
}

void SimulatedStore::announce() {
  for (const std::weak_ptr<Ticket>& each : std::exchange(listeners_, {})) {
    const std::shared_ptr<Ticket> ticket = each.lock();
    if (!ticket) continue;
    Schedule& schedule = world_.schedule();
    if (!world_.calm() && schedule.draw(Kind::lose_hint, ticket->actor, profile_.hint_loss, 0, 0)) {
      ++world_.counts["wake-ups lost"];
      continue;
    }
    const auto delay = world_.calm()
                           ? std::nullopt
                           : schedule.draw(Kind::hint, ticket->actor, 1, 100'000, 20'000'000);
    world_.after(Duration(delay.value_or(1'000'000)), [this, each] {
      const std::shared_ptr<Ticket> told = each.lock();
      if (!told) return;
      told->changed = true;
      if (told->waiting != nullptr) world_.wake(*told->waiting);
    });
  }
}

void SimulatedStore::begin() {
  const TimePoint start = world_.now();
  for (TimePoint at = start + 500ms; at < profile_.calm; at += 500ms) {
    world_.at(at, [this] { tick(); });
  }
  for (TimePoint at = start + 333ms; profile_.snapshots && at < profile_.settled; at += 1234ms) {
    world_.at(at, [this] { take_picture(); });
  }
  if (profile_.world != Profile::World::promised) {
    world_.at(profile_.disturbed, [this] { disturb_world(); });
  }
  if (profile_.backup) world_.at(*profile_.backup, [this] { back_up(); });
}

void SimulatedStore::disturb_world() {
  switch (profile_.world) {
    case Profile::World::promised:
    case Profile::World::quiet:
      return;
    case Profile::World::stepped:
      stepped_ = world_.now();
      clock_.ahead += far_ahead;
      ++world_.counts["clock steps beyond the margin"];
      return;
    case Profile::World::restored:
      clock_.wall_ahead -= 10h;
      ++world_.counts["calendars set back with the store"];
      lose_state();
      return;
    case Profile::World::lost:
      lose_state();
      return;
    case Profile::World::slow:
      ++world_.counts["slow stores"];
      return;
    case Profile::World::demoted:
      demote();
      return;
  }
}

void SimulatedStore::back_up() {
  backup_ = Backup{copy_memory_store(*memory_, clock_), fates_, world_.now()};
}

// Nobody is told, and waiters in the store are forgotten as well.
void SimulatedStore::lose_state() {
  ++world_.counts[backup_ ? "stores restored" : "stores wiped"];
  std::map<Stamp, Fate> fates = fates_;
  for (auto& [stamp, fate] : fates) fate.back = !live(stamp);
  memory_ = backup_ ? backup_->memory : make_memory_store(clock_);
  front_ = std::make_unique<Front>(*this, memory_);
  fates_ = backup_ ? backup_->fates : std::map<Stamp, Fate>();
  for (auto& [stamp, fate] : fates) {
    if (live(stamp)) {
      if (fate.back) ++world_.counts["holds that a restore brought back"];
      const bool back = fate.back;
      fate = fates_.at(stamp);
      fate.back = back;
      continue;
    }
    if (!std::exchange(fate.back, false)) {
      fate.end = Fate::End::forgotten;
      ++world_.counts["holds forgotten"];
    }
  }
  fates_ = std::move(fates);
  last_writes_.clear();
  listeners_.clear();
  lost_state_ = world_.now();
  const TimePoint from = backup_ ? backup_->taken : TimePoint{};
  world_.record(history::RestoreBegin{.from = from, .until = from});
  world_.record(history::RestoreEnd{});
  const SpaceConfig config = *front_->load_config(TimePoint::max());
  for (const auto& [app, epoch] : config.epochs) known_epochs_.insert(epoch);
  if (config_changed) config_changed(config);
}

// The copy contains everything that was confirmed.
void SimulatedStore::demote() {
  ++world_.counts["stores demoted"];
  demoted_at_ = world_.now();
  const std::shared_ptr<MemoryStore> old =
      std::exchange(memory_, copy_memory_store(*memory_, clock_));
  if (profile_.flaw == Flaw::demoted_grants) {
    demoted_ = std::make_unique<Front>(*this, old);
  } else {
    demoted_ = std::make_unique<ReadOnly>(make_memory_backend(old),
                                          profile_.flaw == Flaw::demoted_observes);
  }
  front_ = std::make_unique<Front>(*this, memory_);
  listeners_.clear();
}

bool SimulatedStore::reaches_demoted(const Process& process) {
  if (!demoted_ || world_.calm()) return false;
  const auto [at, fresh] = stuck_until_.try_emplace(process.actor);
  if (fresh) {
    const auto time = world_.schedule().draw(Kind::stick, process.actor, 0.7, 0, 5'000'000'000);
    if (time) at->second = demoted_at_ + Duration(*time);
  }
  const bool stuck = world_.now() < at->second;
  if (stuck) ++world_.counts["requests to a demoted store"];
  return stuck;
}

void SimulatedStore::tick() {
  if (profile_.flaw == Flaw::early_sweep) {
    static_cast<void>(front_->sweep_traces(Duration::zero(), TimePoint::max()).ok());
  }
  Schedule& schedule = world_.schedule();
  const Duration before = clock_.ahead >= far_ahead ? far_ahead : Duration::zero();
  if (const auto to =
          schedule.draw(Kind::step, actor_, profile_.steps, 0, profile_.ahead.count())) {
    clock_.ahead = before + Duration(*to);
    ++world_.counts["clock jumps"];
  }
  constexpr std::int64_t hour = 3'600'000'000'000;
  if (const auto to = schedule.draw(Kind::wall, actor_, profile_.walls, -hour, hour)) {
    if (profile_.world != Profile::World::restored) clock_.wall_ahead = Duration(*to);
    ++world_.counts["calendar jumps"];
  }
  if (const auto time =
          schedule.draw(Kind::down, actor_, profile_.downs, 1'000'000, 2'000'000'000)) {
    down_until_ = std::min(world_.now() + Duration(*time), profile_.calm);
    ++world_.counts["restarts"];
  }
}

void SimulatedStore::take_picture() {
  const Result<Inspection> snapshot = front_->inspect({}, TimePoint::max());
  world_.record(history::SeenBegin{});
  for (const HoldInfo& hold : snapshot->holds) {
    if (of_application(hold.items)) continue;
    history::Seen seen{hold.stamp, {}};
    for (const LockRequest& item : hold.items) seen.set.push_back({item.name, item.mode, 0});
    world_.record(std::move(seen));
  }
  world_.record(history::SeenEnd{});
  ++world_.counts["snapshots"];
}

void SimulatedStore::finish() {
  for (const auto& [stamp, fate] : fates_) {
    const bool of_nobody = fate.process != nullptr && fate.process->dead;
    const bool orphan = fate.permanent && (of_nobody || fate.back);
    if (orphan) static_cast<void>(serve(nullptr).break_hold(stamp, TimePoint::max()).ok());
  }
  static_cast<void>(front_->sweep(TimePoint::max()).ok());
  const Result<Inspection> left = front_->inspect({}, TimePoint::max());
  world_.record(history::End{left->holds.size(), 0, 0});
}

}  // namespace lockset::simulation
