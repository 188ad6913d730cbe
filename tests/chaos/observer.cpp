#include "tests/chaos/observer.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "lockset/registry.h"
#include "tests/chaos/stores/store.h"
#include "tests/support/recording_backend.h"
#include "tests/support/wait.h"

namespace lockset::chaos {

namespace {

// If a client does not end a hold within a second, its session is ended.
constexpr Duration quick_break = std::chrono::milliseconds(500);

std::unique_ptr<Backend> open(const Observer::Options& options) {
  auto backend = open_backend(options.url, BootClock::now() + std::chrono::seconds(20));
  if (!backend) throw std::runtime_error("the observer can't open: " + backend.error().message);
  return *std::move(backend);
}

// Returns at `until` or at `stop`.
void pause(TimePoint until, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, until - BootClock::now(), [] { return false; });
}

}  // namespace

Observer::Observer(Options options)
    : options_(std::move(options)),
      backend_(open(options_)),
      recorder_("observer", options_.log),
      dice_(options_.seed),
      names_(hot_names(options_.names, backend_->traits().counted_permits)) {}

Observer::~Observer() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void Observer::start() {
  for (HotName& name : names_) {
    const Permits wanted = std::exchange(name.permits, Permits{});
    const bool set = set_permits(name, Mode::read, wanted.read, {}) &&
                     set_permits(name, Mode::write, wanted.write, {});
    if (!set) throw std::runtime_error("the permits of " + name.name + " can't be set");
  }
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void Observer::run(const std::stop_token& stop) {
  TimePoint permits_at = BootClock::now() + options_.permits_every;
  TimePoint break_at = BootClock::now() + options_.break_every;
  while (!stop.stop_requested()) {
    const TimePoint now = BootClock::now();
    if (take_picture()) end_cut();
    if (now >= permits_at) {
      changing_ = true;  // set before the look: a caller that forbids changes and then finds this
                         // false is safe
      if (permits_change_) change_one(stop);
      changing_ = false;
      permits_at = now + options_.permits_every;
    }
    if (options_.break_every > Duration::zero() && now >= break_at && !cut_) {
      break_one();
      break_at = now + options_.break_every;
    }
    pause(now + options_.picture_every, stop);
  }
}

bool Observer::take_picture() {
  const TimePoint from = recorder_.now();
  Result<Inspection> all = backend_->inspect({}, soon());
  // A store that lost its state does not know its holds, and says so.
  if (!all || all->quarantine) return all.ok();
  // Lockset's own holds are not in the history: the pilot of a migration takes them.
  std::erase_if(all->holds,
                [](const HoldInfo& hold) { return is_reserved_name(hold.items.front().name); });
  test::record_picture(recorder_, from, *all);
  ++snapshots_;
  seen_.clear();
  for (const HoldInfo& hold : all->holds) seen_.push_back(hold.stamp);
  return true;
}

// Repeated until the store confirms it: an end line says that the new values apply from now on.
bool Observer::set_permits(HotName& name, Mode mode, std::uint32_t value,
                           const std::stop_token& stop) {
  (mode == Mode::read ? name.permits.read : name.permits.write) = value;
  recorder_.record(history::PermitsBegin{name.name, name.permits.read, name.permits.write});
  const TimePoint give_up = BootClock::now() + std::chrono::minutes(5);
  while (!backend_->change_config(SetPermits{name.name, mode, value}, soon())) {
    if (stop.stop_requested() || BootClock::now() > give_up) return false;
    pause(BootClock::now() + options_.picture_every, stop);
  }
  recorder_.record(history::PermitsEnd{name.name, name.permits.read, name.permits.write});
  return true;
}

// The present values: the store may have been restored since the last change. REQUIRES: the turn.
bool Observer::read_permits() {
  const Result<SpaceConfig> config = backend_->load_config(soon());
  if (!config) return false;
  for (HotName& name : names_) name.permits = config->permits_of(name.name);
  return true;
}

void Observer::change_one(const std::stop_token& stop) {
  constexpr std::array<std::uint32_t, 4> values = {1, 2, 3, 1000};
  std::unique_lock<std::mutex> turn;
  if (options_.permits_turn != nullptr) {
    turn = std::unique_lock(*options_.permits_turn, std::try_to_lock);
    if (!turn.owns_lock() || !read_permits()) return;
  }
  std::vector<HotName*> changing;
  for (HotName& name : names_) {
    if (name.changes) changing.push_back(&name);
  }
  if (changing.empty()) return;
  HotName& name = *changing[dice_() % changing.size()];
  if (!backend_->traits().counted_permits) {
    set_permits(name, Mode::read, dice_() % 2 == 0 ? 1 : max_permits, stop);
    return;
  }
  set_permits(name, dice_() % 2 == 0 ? Mode::read : Mode::write, values[dice_() % values.size()],
              stop);
}

void Observer::break_one() {
  if (seen_.empty()) return;
  const Stamp stamp = seen_[dice_() % seen_.size()];
  // Where holds end with their connection, the one of a client that does not answer is ended, with
  // its other holds.
  cut_ = !backend_->traits().holds_outlive_connections;
  if (cut_) recorder_.record(history::CutBegin{"break"});
  recorder_.record(history::Release{stamp});
  const TimePoint asked = BootClock::now();
  const Result<bool> broken = backend_->break_hold(stamp, soon());
  // Then it is not known whether the hold was still there: its client did not say.
  const bool forced = cut_ && BootClock::now() >= asked + quick_break;
  if (!broken || (*broken && forced)) {
    recorder_.record(history::ReleaseUnknown{stamp});
  } else if (*broken) {
    recorder_.record(history::Released{stamp});
  } else {
    recorder_.record(history::NotHeld{stamp});
  }
  if (cut_ && broken && !forced) {
    recorder_.record(history::CutEnd{"break"});
    cut_ = false;
  }
}

// REQUIRES: the server has answered since: it works, and ends a connection soon.
void Observer::end_cut() {
  if (!std::exchange(cut_, false)) return;
  recorder_.record_at(BootClock::now() + time_to_cut, history::CutEnd{"break"});
}

void Observer::count(const CountLeft& left, history::End& all) {
  all = left ? left() : history::End{};
  // Then only connections are left to count, and this is one of them.
  if (!backend_) return;
  for (;;) {
    const Result<std::size_t> swept = backend_->sweep(soon());
    if (!swept || *swept == 0) break;
  }
  const Result<Inspection> shown = backend_->inspect({}, soon());
  if (!shown) throw std::runtime_error("the end can't be looked at: " + shown.error().message);
  all.holds = std::max<std::uint64_t>(all.holds, shown->holds.size());
  all.waiters = std::max<std::uint64_t>(all.waiters, shown->waiters.size());
  if (all.holds == 0 && all.waiters == 0) backend_.reset();
}

history::End Observer::finish(const CountLeft& left, Duration limit) {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  history::End last;
  const auto clean = [&] {
    count(left, last);
    return !backend_ && last == history::End{};
  };
  test::eventually(clean, limit);
  recorder_.record(last);
  return last;
}

}  // namespace lockset::chaos
