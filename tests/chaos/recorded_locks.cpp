#include "tests/chaos/recorded_locks.h"

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <utility>

#include "lockset/registry.h"
#include "tests/support/recording_backend.h"

namespace lockset::chaos {
namespace {

// How long a store may be without its space, or read-only, on a busy machine.
constexpr Duration time_unfit = std::chrono::seconds(60);

// Prints one line for each step of the store's clock that is noticed.
class StepReport final : public lockset::Observer {
 public:
  void on_event(const Event& event) noexcept override {
    if (event.kind != Event::Kind::clock_stepped) return;
    std::printf("clock_stepped: %.*s\n", static_cast<int>(event.detail.size()),
                event.detail.data());
    std::fflush(stdout);
  }
};

void tell(TimePoint now, const Error& error) {
  const auto code = to_string(error.code);
  std::printf("failed %lld %.*s: %s\n", static_cast<long long>(now.time_since_epoch().count()),
              static_cast<int>(code.size()), code.data(), error.message.c_str());
  std::fflush(stdout);
}

Result<Locks> open_once(const RecordedLocks::Options& options,
                        const std::shared_ptr<test::Recorder>& recorder) {
  auto store = open_backend(options.url, BootClock::now() + 5 * options.io_timeout);
  if (!store) return std::move(store).error();
  lockset::Options how;
  how.app = options.app;
  how.lease = options.lease;
  how.io_timeout = options.io_timeout;
  how.store_patience = 3 * options.io_timeout;
  how.refresh_config = std::chrono::seconds(1);
  how.observer = std::make_shared<StepReport>();
  return lockset::open(std::make_unique<test::RecordingBackend>(
                           *std::move(store), recorder, test::RecordingBackend::Level::beneath_api),
                       how);
}

}  // namespace

Unexpected::Unexpected(const std::string& what, const Error& error)
    : std::runtime_error(what + ": " + std::string(to_string(error.code)) + ": " + error.message) {}

bool is_trouble(const Error& error, bool lost_state) noexcept {
  return error.retryable() || error.may_have_applied() ||
         (lost_state && error.code == Errc::rolled_back);
}

RecordedLocks::RecordedLocks(Locks locks, Options options, std::shared_ptr<test::Recorder> recorder)
    : locks_(std::move(locks)), options_(std::move(options)), recorder_(std::move(recorder)) {}

std::unique_ptr<RecordedLocks> RecordedLocks::open(const Options& options,
                                                   std::shared_ptr<test::Recorder> recorder,
                                                   const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  const TimePoint began = BootClock::now();
  while (!stop.stop_requested()) {
    Result<Locks> locks = open_once(options, recorder);
    if (locks) {
      return std::make_unique<RecordedLocks>(*std::move(locks), options, std::move(recorder));
    }
    // A newcomer knows nothing about a lost space until somebody restores it.
    const bool unfit = options.unfit && locks.error().code == Errc::misconfigured &&
                       BootClock::now() < began + time_unfit;
    if (!options.lost_state && !unfit && !is_trouble(locks.error(), false)) {
      throw Unexpected("open", locks.error());
    }
    never.wait_for(lock, stop, std::chrono::milliseconds(50), [] { return false; });
  }
  return nullptr;
}

void RecordedLocks::bear(const std::string& what, const Error& error) const {
  const bool unfit = options_.unfit && error.code == Errc::misconfigured &&
                     BootClock::now() < last_answer_.load() + time_unfit;
  if (unfit) return;
  if (!is_trouble(error, options_.lost_state)) throw Unexpected(what, error);
}

void RecordedLocks::note_refusal(std::uint64_t op, const LockSet& set, const Error* error) {
  if (error == nullptr) {
    recorder_->record(history::Busy{op, set.items().front().name, Stamp{}});
  } else if (error->code == Errc::timeout) {
    recorder_->record(history::TimedOut{op});
  } else if (error->code == Errc::changed) {
    recorder_->record(history::Changed{op, {}});
  } else if (error->retryable() || error->code == Errc::misconfigured) {
    // Certainly not applied. An earlier attempt in doubt is recorded by itself.
    recorder_->record(history::Refused{op});
  } else {
    recorder_->record(history::Unknown{op});
  }
}

std::unique_ptr<RecordedHold> RecordedLocks::acquire(const Wish& wish, bool& trouble) {
  const LockSet set = LockSet::make(wish.set).value();
  const std::uint64_t op = recorder_->ask(set.items(), options_.lease, wish.wait);
  std::optional<Observation> condition;
  if (wish.unchanged_since) {
    recorder_->record(history::Condition{op, wish.unchanged_since->op});
    condition = wish.unchanged_since->observation;
  }
  Result<std::optional<Hold>> answer = [&]() -> Result<std::optional<Hold>> {
    if (wish.wait == Duration::zero()) {
      TryOptions how;
      how.unchanged_since = std::move(condition);
      return locks_.try_acquire(set, how);
    }
    AcquireOptions how;
    how.unchanged_since = std::move(condition);
    how.wait = wish.wait;
    how.stop = wish.stop;
    Result<Hold> hold = locks_.acquire(set, how);
    if (!hold) return std::move(hold).error();
    return std::optional(*std::move(hold));
  }();
  if (!answer || !*answer) {
    note_refusal(op, set, answer ? nullptr : &answer.error());
    if (answer) {
      note_answer();
      return nullptr;
    }
    const Errc code = answer.error().code;
    if (code == Errc::changed) note_answer();
    if (code == Errc::timeout || code == Errc::cancelled || code == Errc::changed) return nullptr;
    bear("acquire", answer.error());
    if (options_.tell_failures) tell(recorder_->now(), answer.error());
    trouble = true;
    return nullptr;
  }
  return granted(op, **std::move(answer));
}

std::unique_ptr<RecordedHold> RecordedLocks::granted(std::uint64_t op, Hold hold) {
  note_answer();
  // Records nothing if it is lost already.
  const TimePoint until = hold.valid_until();
  std::vector<Stamp> floors;
  if (locks_.traits().floors) {
    for (const LockRequest& item : hold.items()) floors.push_back(hold.floor(item.name));
  }
  recorder_->record(history::Granted{op, hold.stamp(), until, std::move(floors)});
  return std::unique_ptr<RecordedHold>(new RecordedHold(*this, std::move(hold)));
}

std::optional<RecordedLocks::Seen> RecordedLocks::observe(std::vector<std::string> names,
                                                          bool& trouble) {
  const std::uint64_t op = recorder_->next_op();
  recorder_->record(history::Observe{op});
  const Result<Observation> seen = locks_.observe(std::move(names));
  if (!seen) {
    recorder_->record(history::NotObserved{op});
    bear("observe", seen.error());
    trouble = true;
    return {};
  }
  history::Observed observed{op, {}};
  for (const Observation::Item& item : seen->items()) {
    observed.saw.push_back({item.name, item.last_write, item.being_written});
  }
  recorder_->record(std::move(observed));
  note_answer();
  return Seen{op, *seen};
}

void RecordedLocks::validate(const Seen& seen, bool& trouble) {
  const std::uint64_t op = recorder_->next_op();
  recorder_->record(history::Validate{op, seen.op});
  const Result<std::vector<Change>> changes = locks_.changes_since(seen.observation);
  if (!changes) {
    recorder_->record(history::NotValidated{op});
    bear("validate", changes.error());
    trouble = true;
    return;
  }
  note_answer();
  if (changes->empty()) {
    recorder_->record(history::Unchanged{op});
    return;
  }
  history::Changed changed{op, {}};
  for (const Change& each : *changes) {
    changed.saw.push_back({each.name, each.stamp, each.was_being_written});
  }
  recorder_->record(std::move(changed));
}

void RecordedLocks::renew(Stamp stamp) {
  const Result<Duration> renewed = locks_.renew_locks(stamp, options_.lease);
  if (!renewed && renewed.error().code != Errc::not_held) bear("renew_locks", renewed.error());
}

void RecordedLocks::release(Stamp stamp) {
  recorder_->record(history::Release{stamp});
  const Status released = locks_.release_locks(stamp);
  if (released) {
    recorder_->record(history::Released{stamp});
  } else if (released.error().code == Errc::not_held) {
    recorder_->record(history::NotHeld{stamp});
  } else {
    recorder_->record(history::ReleaseUnknown{stamp});
    bear("release_locks", released.error());
  }
}

RecordedHold::RecordedHold(RecordedLocks& locks, Hold hold)
    : locks_(locks), hold_(std::move(hold)), stamp_(hold_.stamp()) {
  lost_.emplace(hold_.lost(), [&] { locks_.recorder().record(history::Lost{stamp_}); });
}

RecordedHold::~RecordedHold() {
  try {
    release();
  } catch (const std::exception&) {
    // Another error is already on its way out, and this is recorded.
  }
}

bool RecordedHold::valid() {
  test::Recorder& recorder = locks_.recorder();
  const TimePoint asked = recorder.now();
  const bool answer = hold_.valid();
  recorder.record(history::Valid{stamp_, asked, answer});
  return answer;
}

void RecordedHold::renew() {
  const Status renewed = hold_.renew();
  if (!renewed && renewed.error().code != Errc::not_held) locks_.bear("renew", renewed.error());
}

void RecordedHold::use(FencedResource& resource,
                       const std::function<bool(const LockRequest&)>& exclusive) {
  const bool floors = locks_.traits().floors;
  for (const LockRequest& item : hold_.items()) {
    if (!floors && !exclusive(item)) continue;
    resource.use(item.name, stamp_, floors ? hold_.floor(item.name) : stamp_);
  }
}

std::unique_ptr<RecordedHold> RecordedHold::convert(Mode mode, bool& trouble) {
  std::vector<LockRequest> wanted(hold_.items().begin(), hold_.items().end());
  for (LockRequest& item : wanted) item.mode = mode;
  const LockSet set = LockSet::make(std::move(wanted)).value();
  test::Recorder& recorder = locks_.recorder();
  const std::uint64_t op = recorder.ask(set.items(), locks_.options_.lease, Duration::zero());
  recorder.record(history::Replace{op, stamp_});
  auto answer = mode == Mode::write ? hold_.try_upgrade() : hold_.downgrade();
  if (answer.ok() && answer->has_value()) {
    over_ = true;
    return locks_.granted(op, *std::move(*answer));
  }
  if (answer.ok()) {
    locks_.note_refusal(op, set, nullptr);
    locks_.note_answer();
    return nullptr;
  }
  if (answer.error().code == Errc::not_held) {
    recorder.record(history::Refused{op});
    return nullptr;
  }
  locks_.note_refusal(op, set, &answer.error());
  locks_.bear("convert", answer.error());
  trouble = true;
  return nullptr;
}

void RecordedHold::release() {
  if (std::exchange(over_, true)) return;
  test::Recorder& recorder = locks_.recorder();
  recorder.record(history::Release{stamp_});
  const Status released = hold_.release();
  if (released) {
    recorder.record(history::Released{stamp_});
    return;
  }
  // If it expired here, the store was not asked, and keeps it for the rest of its lease. What was
  // perhaps downgraded is given back in the background.
  const LostReason reason = hold_.lost_reason();
  const bool asked = reason != LostReason::expired && reason != LostReason::in_doubt;
  if (released.error().code == Errc::not_held && asked) {
    recorder.record(history::NotHeld{stamp_});
    return;
  }
  recorder.record(history::ReleaseUnknown{stamp_});
  if (released.error().code != Errc::not_held) locks_.bear("release", released.error());
}

void RecordedHold::release_again() {
  test::Recorder& recorder = locks_.recorder();
  recorder.record(history::Release{stamp_});
  const Status released = hold_.release();
  recorder.record(released ? history::What(history::Released{stamp_})
                           : history::What(history::ReleaseUnknown{stamp_}));
  locks_.release(stamp_);
}

std::optional<Stamp> RecordedHold::detach() {
  over_ = true;
  // Its holder no longer relies on it, and gets no answer.
  locks_.recorder().record(history::Release{stamp_});
  Result<Stamp> detached = hold_.detach();
  if (detached) return *detached;
  // Where holds end with their process, the store has to be told, and may not answer. Then the
  // destructor releases it, and the lease ends it at the latest.
  if (detached.error().code != Errc::not_held) locks_.bear("detach", detached.error());
  return {};
}

}  // namespace lockset::chaos
