#include "tests/migration/backend/pair.h"

#include <algorithm>
#include <utility>

#include "backends/migrate/backend.h"
#include "lockset/forwarding_backend.h"
#include "tests/support/wait.h"

namespace lockset::test {

// --- Way ---

void Way::before(Call call, std::function<void()> action) {
  const std::lock_guard lock(mutex_);
  before_[call] = std::move(action);
}

void Way::after(Call call, std::function<void()> action) {
  const std::lock_guard lock(mutex_);
  after_[call] = std::move(action);
}

Duration Way::given(Call call) const {
  const std::lock_guard lock(mutex_);
  const auto at = given_.find(call);
  return at == given_.end() ? Duration::zero() : at->second;
}

namespace {

Error operators_only() {
  return {Errc::misconfigured, "user 'app' may not do that: it takes an operator's rights"};
}

}  // namespace

void Way::run(std::map<Call, std::function<void()>>& actions, Call call) {
  std::function<void()> action;
  {
    const std::lock_guard lock(mutex_);
    const auto at = actions.find(call);
    if (at == actions.end()) return;
    action = std::move(at->second);
    actions.erase(at);
  }
  action();
}

template <class Send>
auto Way::send(Call call, TimePoint by, Send forward) -> decltype(forward()) {
  ++calls_;
  {
    const std::lock_guard lock(mutex_);
    given_[call] = by - BootClock::now();
  }
  if (on_every_call) on_every_call(by);
  run(before_, call);
  if (down) return Error{Errc::unavailable, "the way is cut"};
  auto answer = forward();
  run(after_, call);
  return answer;
}

Traits Way::traits() const {
  Traits result = other_traits.value_or(faults_->traits());
  result.clock = nullptr;  // as for a server, which has its own clock
  return result;
}

Result<AcquireOutcome> Way::try_acquire(const AcquireRequest& request) {
  last_ticket = request.ticket.get();
  return send(Call::try_acquire, request.by, [&] { return inner().try_acquire(request); });
}
Result<std::optional<Grant>> Way::resolve(const HoldRef& attempt, TimePoint by) {
  return send(Call::resolve, by, [&] { return inner().resolve(attempt, by); });
}
Result<RenewReply> Way::renew(const Owner& owner, std::span<const RenewRequest> requests,
                              TimePoint by) {
  Result<RenewReply> reply =
      send(Call::renew, by, [&] { return inner().renew(owner, requests, by); });
  if (reply && other_lease) {
    for (std::optional<Renewal>& each : reply->renewals) {
      if (each) each->lease = *other_lease;
    }
  }
  return reply;
}
Result<bool> Way::release(const HoldRef& hold, std::string_view app, TimePoint by) {
  return send(Call::release, by, [&] { return inner().release(hold, app, by); });
}
Result<bool> Way::break_hold(const HoldRef& hold, TimePoint by) {
  return send(Call::break_hold, by, [&]() -> Result<bool> {
    if (of_a_program) return operators_only();
    return inner().break_hold(hold, by);
  });
}
void Way::end_wait(WaitTicket& ticket, TimePoint by) {
  ++ended_waits;
  {
    const std::lock_guard lock(mutex_);
    given_[Call::await_change] = by - BootClock::now();
  }
  if (!down) inner().end_wait(ticket, by);
}
Result<Inspection> Way::inspect(const InspectQuery& query, TimePoint by) {
  return send(Call::inspect, by, [&] { return inner().inspect(query, by); });
}
Result<SpaceConfig> Way::load_config(TimePoint by) {
  return send(Call::load_config, by, [&] { return inner().load_config(by); });
}
Result<SpaceConfig> Way::change_config(const ConfigChange& change, TimePoint by) {
  return send(Call::change_config, by, [&]() -> Result<SpaceConfig> {
    if (of_a_program) return operators_only();
    return inner().change_config(change, by);
  });
}
Result<std::size_t> Way::reclaim(std::string_view app, std::int64_t epoch, TimePoint by) {
  return send(Call::reclaim, by, [&] { return inner().reclaim(app, epoch, by); });
}
Result<ObserveOutcome> Way::observe(const ObserveRequest& request) {
  return send(Call::observe, request.by, [&] { return inner().observe(request); });
}

// --- Pair ---

namespace {

// Opens a store for a process: the way, which the test keeps.
migrate::OpenStore opener(const std::shared_ptr<Way>& way) {
  return [way](TimePoint) -> Result<std::unique_ptr<Backend>> {
    if (way->down) return Error{Errc::unavailable, "the way is cut"};
    return std::unique_ptr<Backend>(std::make_unique<ForwardingBackend>(way));
  };
}

void mark(Backend& store, Step step) {
  const MigrationMark mark{step, step == Step::none ? 0 : the_migration};
  static_cast<void>(store.change_config(SetMigrationPhase{mark.encode()}, soon()).value());
}

// A stamp above all that the store has granted.
Stamp probe(Backend& store) {
  Client prober(std::shared_ptr<Backend>(&store, [](Backend*) {}), "@migration");
  const Stamp stamp = prober.take({write("@probe")}).stamp;
  static_cast<void>(prober.release(stamp));
  return stamp;
}

void raise(Backend& store, Stamp base) {
  static_cast<void>(store.change_config(RaiseStampBase{base}, soon()).value());
}

}  // namespace

TimePoint Pair::soon_() { return soon(); }

Result<Process> Pair::try_open(const std::function<void(Process&)>& prepare) {
  const auto way = [](const std::shared_ptr<MemoryStore>& store) {
    return std::make_shared<Way>(
        std::make_shared<FaultyBackend>(make_memory_backend(store), std::uint64_t{1}));
  };
  Process process{way(old_), way(new_), nullptr};
  if (prepare) prepare(process);
  Result<std::unique_ptr<Backend>> backend =
      migrate::open_migrate_backend(opener(process.to_old), opener(process.to_new), soon());
  if (!backend) return std::move(backend).error();
  process.backend = *std::move(backend);
  return process;
}

void Pair::mark_old(Step step) { mark(*old_backend_, step); }
void Pair::mark_new(Step step) { mark(*new_backend_, step); }

void Pair::go_to(MigrationPhase phase) {
  if (phase == MigrationPhase::old_only) return;
  mark_new(Step::prepared);
  mark_old(Step::shadow);
  if (phase == MigrationPhase::shadow) return;
  mark_old(Step::dual_old);
  if (phase == MigrationPhase::dual_old) return;
  dual_old_to_dual_new();
  if (phase == MigrationPhase::dual_new) return;
  mark_new(Step::open);
  if (phase == MigrationPhase::new_only) return;
  mark_old(Step::closed);
  if (phase == MigrationPhase::closed) return;
  mark_new(Step::done);
}

void Pair::dual_old_to_dual_new() {
  mark_old(Step::to_new);
  const Stamp last = probe(*old_backend_);
  raise(*new_backend_, last);
  raise(*old_backend_, last);
  mark_old(Step::dual_new);
}

void Pair::dual_new_to_dual_old() {
  mark_old(Step::to_old);
  mark_new(Step::prepared);  // only raises the version
  raise(*old_backend_, probe(*new_backend_));
  mark_old(Step::dual_old);
}

}  // namespace lockset::test
