#include "backends/migrate/shadow.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "backends/migrate/hold_tag.h"
#include "core/migration_mark.h"
#include "core/time_math.h"

namespace lockset::migrate {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t longest_queue = 1024;
// For one call to the new store.
constexpr Duration patience = seconds(1);
// Another process may have released a hold in the old store which its shadow still holds in the new
// one.
constexpr Duration allowance = seconds(1);
constexpr Duration pause = milliseconds(20);
constexpr Duration report_every = seconds(5);
constexpr Duration reports_last = std::chrono::minutes(10);
constexpr std::size_t most_latencies = 1024;
constexpr Duration longest_goodbye = seconds(2);

}  // namespace

Shadow::~Shadow() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    if (bell_) bell_->ring();
  }
  if (thread_.joinable()) thread_.join();
}

void Shadow::granted(const AcquireRequest& request, Stamp in_old, std::uint32_t migration) {
  // The client's own hold on an application id, and the like, are no trials.
  if (is_reserved_name(request.set->items().front().name)) return;
  const std::int64_t prepared = MigrationMark{MigrationMark::Step::prepared, migration}.encode();
  const TimePoint now = BootClock::now();
  Trial trial{*request.set, *request.owner, request.lease, in_old, prepared, now, now};
  trial.owner.instance =
      tagged(request.owner->instance,
             {.phase = MigrationPhase::shadow, .in_old = in_old, .migration = migration});
  trial.owner.epoch = 0;
  add({Step::Kind::take, std::move(trial), in_old, {}});
}

void Shadow::renewed(Stamp in_old, Duration lease) { add({Step::Kind::renew, {}, in_old, lease}); }

void Shadow::ended(Stamp in_old) { add({Step::Kind::end, {}, in_old, {}}); }

void Shadow::add(Step step) {
  const std::lock_guard lock(mutex_);
  if (stopping_) return;
  const bool is_end = step.kind == Step::Kind::end;
  if (!thread_.joinable()) {
    if (step.kind != Step::Kind::take) return;  // nothing was tried so far
    try {
      bell_.emplace();
      thread_.start([this] { work(); });
    } catch (const std::system_error&) {
      bell_.reset();
      return;  // nothing depends on it
    }
  }
  // An end is always kept, because what it ends would block others. But the end of a trial that
  // never began is dropped: otherwise the queue would grow as long as the store hangs.
  if (is_end && begun_.erase(step.in_old) == 0) return;
  if (queue_.size() >= longest_queue && !is_end) {
    if (step.kind == Step::Kind::take) ++skipped_;
    return;
  }
  if (step.kind == Step::Kind::take) begun_.insert(step.in_old);
  queue_.push_back(std::move(step));
  bell_->ring();
}

void Shadow::work() {
  for (;;) {
    std::optional<Step> step;
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) break;  // what it holds is ended below; the rest was never begun
      if (!queue_.empty()) {
        step.emplace(std::move(queue_.front()));
        queue_.pop_front();
      }
      counts_.skipped = skipped_;
    }
    if (step) do_step(*step);
    const TimePoint now = BootClock::now();
    try_again(now);
    if (now >= next_report_) report();
    if (step) continue;
    TimePoint next = later(now, report_every);
    for (const Trial& each : waiting_) next = std::min(next, each.next);
    bell_->wait_until(next);
  }
  // If the store does not answer now, the thread does not wait for it again.
  if (end_all()) report();
}

void Shadow::do_step(Step& step) {
  switch (step.kind) {
    case Step::Kind::take:
      ++counts_.tried;
      reporter_ = step.trial->owner;
      if (!try_once(*step.trial)) waiting_.push_back(*std::move(step.trial));
      return;
    case Step::Kind::renew:
      return renew(step.in_old, step.lease);
    case Step::Kind::end:
      end(step.in_old);
      return;
  }
}

void Shadow::try_again(TimePoint now) {
  std::vector<Trial> due;
  std::erase_if(waiting_, [&](Trial& each) {
    if (now < each.next) return false;
    due.push_back(std::move(each));
    return true;
  });
  for (Trial& each : due) {
    each.next = later(now, pause);
    if (!try_once(each)) waiting_.push_back(std::move(each));
  }
}

bool Shadow::try_once(const Trial& trial) {
  const TimePoint by = later(BootClock::now(), patience);
  const Result<Backend*> store = store_.get(by);
  if (store && !config_) {
    if (Result<SpaceConfig> config = (*store)->load_config(by)) config_ = *std::move(config);
  }
  if (!store || !config_) {
    ++counts_.errors;
    return true;
  }
  // The old store does not move to this store, or not at this time: these trials must not block
  // clients that take locks there.
  if (config_->migration_phase != trial.new_phase) {
    config_.reset();
    ++counts_.errors;
    return true;
  }
  std::vector<std::uint32_t> permits;
  for (const LockRequest& item : trial.set.items()) {
    permits.push_back(config_->permits_of(item.name).of(item.mode));
  }
  AcquireRequest request;
  request.set = &trial.set;
  request.permits = permits;
  request.config_version = config_->version;
  request.token = Token::random();
  request.owner = &trial.owner;
  request.lease = std::min(trial.lease, config_->max_lease);
  request.min_stamp = trial.in_old;
  request.by = by;
  const TimePoint sent = BootClock::now();
  Result<AcquireOutcome> outcome = (*store)->try_acquire(request);
  const TimePoint now = BootClock::now();
  if (!outcome) {
    ++counts_.errors;
    return true;
  }
  if (std::holds_alternative<Stale>(*outcome)) {
    config_.reset();  // read before the next trial
    return false;
  }
  if (const Grant* grant = std::get_if<Grant>(&*outcome)) {
    ++counts_.granted;
    latencies_.push_back(now - sent);
    if (latencies_.size() > most_latencies) latencies_.pop_front();
    holds_.insert_or_assign(trial.in_old, KnownHold{trial.set, trial.owner, request.token,
                                                    grant->stamp, grant->store_time_us});
    return true;
  }
  if (now - trial.since < allowance) return false;
  ++counts_.differences;
  return true;
}

void Shadow::renew(Stamp in_old, Duration lease) {
  const auto hold = holds_.find(in_old);
  if (hold == holds_.end() || !config_) return;
  const TimePoint by = later(BootClock::now(), patience);
  const RenewRequest request{hold->second.ref(), std::min(lease, config_->max_lease)};
  const Result<Backend*> store = store_.get(by);
  if (!store || !(*store)->renew(hold->second.owner, {&request, 1}, by)) ++counts_.errors;
}

bool Shadow::end(Stamp in_old) {
  // The trial waited for one that was too short to be tried.
  const auto tried =
      std::erase_if(waiting_, [&](const Trial& each) { return each.in_old == in_old; });
  counts_.tried -= tried;
  const auto hold = holds_.find(in_old);
  if (hold == holds_.end()) return true;
  const TimePoint by = later(BootClock::now(), patience);
  const Result<Backend*> store = store_.get(by);
  const bool ended =
      store && (*store)->release(hold->second.ref(), hold->second.owner.app, by).ok();
  if (!ended) ++counts_.errors;
  holds_.erase(hold);
  return ended;
}

bool Shadow::end_all() {
  const TimePoint until = later(BootClock::now(), longest_goodbye);
  while (!holds_.empty() && BootClock::now() < until) {
    if (!end(Stamp{holds_.begin()->first})) return false;
  }
  return holds_.empty();
}

std::string Shadow::report_text() const {
  std::vector<Duration> sorted(latencies_.begin(), latencies_.end());
  std::sort(sorted.begin(), sorted.end());
  const auto at = [&](std::size_t percent) {
    if (sorted.empty()) return std::string("0");
    const Duration value = sorted[(sorted.size() - 1) * percent / 100];
    return std::to_string(value / std::chrono::microseconds(1));
  };
  return "tried=" + std::to_string(counts_.tried) + " granted=" + std::to_string(counts_.granted) +
         " differences=" + std::to_string(counts_.differences) +
         " errors=" + std::to_string(counts_.errors) +
         " skipped=" + std::to_string(counts_.skipped) + " median_us=" + at(50) +
         " p99_us=" + at(99);
}

void Shadow::report() {
  const TimePoint now = BootClock::now();
  next_report_ = later(now, report_every);
  if (!reporter_ || !config_) return;
  const std::string text = report_text();
  if (text == reported_text_) return;
  const TimePoint by = later(now, patience);
  const Result<Backend*> store = store_.get(by);
  if (!store) return;
  Owner owner = *reporter_;
  const std::optional<HoldTag> tag = tag_of(owner.instance);
  owner.instance = std::string(without_tag(owner.instance));
  Result<LockSet> set =
      LockSet::make({write("@shadow:" + owner.instance)}, LockSet::Names::reserved_too);
  if (!set) return;
  // Tagged as a trial, so that nobody takes it for a client's hold.
  owner.instance = tagged(owner.instance,
                          {.phase = MigrationPhase::shadow, .migration = tag ? tag->migration : 0});
  owner.label = text;
  if (reported_) static_cast<void>((*store)->release(reported_->ref(), owner.app, by).ok());
  const std::uint32_t permits[] = {1};
  AcquireRequest request;
  request.set = &*set;
  request.permits = permits;
  request.config_version = config_->version;
  request.token = Token::random();
  request.owner = &owner;
  request.lease = std::min(reports_last, config_->max_lease);
  request.by = by;
  Result<AcquireOutcome> outcome = (*store)->try_acquire(request);
  if (!outcome) return;
  if (std::holds_alternative<Stale>(*outcome)) {
    if (Result<SpaceConfig> config = (*store)->load_config(by)) config_ = *std::move(config);
    next_report_ = now;
  } else if (const Grant* grant = std::get_if<Grant>(&*outcome)) {
    reported_.emplace(KnownHold{*set, owner, request.token, grant->stamp, grant->store_time_us});
    reported_text_ = text;
  }
}

}  // namespace lockset::migrate
