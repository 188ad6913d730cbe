#include "tests/chaos/worker.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "core/time_math.h"
#include "tests/chaos/fenced_resource.h"
#include "tests/chaos/forks.h"
#include "tests/chaos/names.h"
#include "tests/chaos/recorded_locks.h"

namespace lockset::chaos {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

void pause(Duration time) { std::this_thread::sleep_for(time); }

// One thread of the process.
class Worker {
 public:
  Worker(const WorkerOptions& options, RecordedLocks& locks, FencedResource& resource,
         std::uint64_t seed, std::stop_token stop)
      : options_(options),
        locks_(locks),
        resource_(resource),
        names_(options.keeps ? kept_names()
                             : hot_names(options.names, locks.traits().counted_permits)),
        dice_(seed),
        stop_(std::move(stop)) {}

  void run() {
    // Seldom; otherwise the others would do nothing but wait.
    next_long_ = now_plus(between(seconds(0), seconds(60)));
    next_orphan_ = now_plus(between(seconds(5), seconds(90)));
    while (options_.keeps && !stop_.stop_requested()) keep_one();
    while (!stop_.stop_requested()) {
      bool trouble = false;
      if (auto hold = take(trouble)) keep(std::move(hold), trouble);
      if (seen_ && !trouble && chance(10)) locks_.validate(*seen_, trouble);
      if (trouble) pause(between(milliseconds(5), milliseconds(25)));
      if (!detached_.empty()) look_after_detached();
    }
    for (const Stamp stamp : std::exchange(detached_, {})) locks_.release(stamp);
  }

 private:
  bool chance(unsigned percent) { return dice_() % 100 < percent; }
  Duration between(Duration from, Duration to) {
    return Duration(std::uniform_int_distribution<Duration::rep>(from.count(), to.count())(dice_));
  }
  static TimePoint now_plus(Duration time) { return BootClock::now() + time; }

  std::vector<LockRequest> random_set() {
    std::map<std::string, Mode> chosen;
    const std::size_t size = std::min<std::size_t>(names_.size(), 1 + dice_() % 3);
    while (chosen.size() < size) {
      chosen[names_[dice_() % names_.size()].name] = chance(50) ? Mode::read : Mode::write;
    }
    std::vector<LockRequest> set;
    for (const auto& [name, mode] : chosen) set.push_back({name, mode});
    return set;
  }

  std::unique_ptr<RecordedHold> take(bool& trouble) {
    RecordedLocks::Wish wish{random_set()};
    if (locks_.traits().observing && chance(20)) {
      look_first(wish, trouble);
      if (trouble) return nullptr;
    }
    const auto kind = dice_() % 100;
    if (kind < 40) return locks_.acquire(wish, trouble);
    std::stop_source cancel;
    const std::stop_callback at_end(stop_, [&] { cancel.request_stop(); });
    wish.stop = cancel.get_token();
    if (kind < 65) {
      wish.wait = between(milliseconds(1), milliseconds(40));
    } else if (kind < 88) {
      wish.wait = between(milliseconds(200), seconds(3));
    } else {
      wish.wait = Duration::max();
    }
    if (kind < 95) return locks_.acquire(wish, trouble);
    const Duration after = between(microseconds(0), milliseconds(30));
    const std::jthread canceller([&] {
      pause(after);
      cancel.request_stop();
    });
    return locks_.acquire(wish, trouble);
  }

  // Observes names, mostly those of the set, and then takes the set only if they have not changed;
  // or just asks whether they have.
  void look_first(RecordedLocks::Wish& wish, bool& trouble) {
    // Some observations get old.
    if (!seen_ || chance(80)) {
      std::vector<std::string> names;
      for (const LockRequest& item : wish.set) names.push_back(item.name);
      if (chance(30)) names.push_back(names_[dice_() % names_.size()].name);
      seen_ = locks_.observe(std::move(names), trouble);
      if (trouble) return;
    }
    pause(chance(80) ? between(microseconds(0), milliseconds(2))
                     : between(milliseconds(2), milliseconds(50)));
    if (chance(60)) locks_.validate(*seen_, trouble);
    if (trouble || chance(30)) return;
    wish.unchanged_since = seen_;
    for (const Observation::Item& item : seen_->observation.items()) {
      const auto has = [&](const LockRequest& each) { return each.name == item.name; };
      if (std::none_of(wish.set.begin(), wish.set.end(), has)) {
        wish.set.push_back({item.name, Mode::read});
      }
    }
  }

  void keep(std::unique_ptr<RecordedHold> taken, bool& trouble) {
    use(*taken);
    while (locks_.traits().converting && !trouble && chance(30)) convert(taken, trouble);
    RecordedHold& hold = *taken;
    if (BootClock::now() >= next_long_) {
      keep_long(hold);
    } else {
      pause(chance(90) ? between(microseconds(0), milliseconds(3))
                       : between(milliseconds(3), milliseconds(30)));
    }
    hold.valid();
    // Whether it is valid or not.
    if (chance(30)) use(hold);
    let_go(hold);
  }

  // Where only some of its names have a mode, either is possible.
  void convert(std::unique_ptr<RecordedHold>& hold, bool& trouble) {
    const auto items = hold->hold().items();
    if (items.empty()) return;
    const Mode mode = items[dice_() % items.size()].mode == Mode::read ? Mode::write : Mode::read;
    pause(between(microseconds(0), milliseconds(2)));
    hold->valid();
    auto next = hold->convert(mode, trouble);
    if (next) hold = std::move(next);
    hold->valid();
    use(*hold);
  }

  void use(RecordedHold& hold) {
    hold.use(resource_, [&](const LockRequest& item) {
      const auto name = std::find_if(names_.begin(), names_.end(),
                                     [&](const HotName& each) { return each.name == item.name; });
      return !name->changes && name->permits.of(item.mode) == 1;
    });
  }

  // Keeps it longer than its lease, so that it lives by renewals; until it is lost.
  void keep_long(RecordedHold& hold) {
    const TimePoint until = now_plus(between(options_.lease, 5 * options_.lease / 2));
    while (hold.valid() && BootClock::now() < until && !stop_.stop_requested()) {
      pause(milliseconds(5));
      if (chance(5)) use(hold);
      if (chance(2)) hold.renew();
    }
    // The last answer may be from before a stop of the process; also allow a moment for late
    // answers.
    if (!hold.valid()) {
      pause(milliseconds(20));
      use(hold);
    }
    next_long_ = now_plus(between(seconds(40), seconds(100)));
  }

  void let_go(RecordedHold& hold) {
    const auto kind = dice_() % 100;
    if (kind < 2 && locks_.traits().holds_outlive_process) {
      if (const auto stamp = hold.detach()) detached_.push_back(*stamp);
      return;
    }
    // The destructor releases some of them.
    if (kind < 10) return;
    hold.release();
    if (kind < 14) hold.release_again();
  }

  // Keeps a name as long as possible, and then takes another one. It keeps asking for more
  // time, so that a renewal may be under way at any moment.
  void keep_one() {
    std::stop_source cancel;
    const std::stop_callback at_end(stop_, [&] { cancel.request_stop(); });
    bool trouble = false;
    const auto hold = locks_.acquire({{{names_[dice_() % names_.size()].name, Mode::write}},
                                      between(seconds(1), 2 * options_.lease),
                                      cancel.get_token()},
                                     trouble);
    if (trouble) pause(between(milliseconds(5), milliseconds(25)));
    if (!hold) return;
    const TimePoint until = now_plus(between(options_.lease, 6 * options_.lease));
    while (hold->valid() && BootClock::now() < until && !stop_.stop_requested()) {
      use(*hold);
      hold->renew();
      pause(milliseconds(100));
    }
    hold->release();
  }

  // Renewed by hand, and released by their stamps or left to their leases.
  void look_after_detached() {
    for (const Stamp stamp : std::exchange(detached_, {})) {
      if (BootClock::now() >= next_orphan_) {
        next_orphan_ = now_plus(between(seconds(60), seconds(120)));
        continue;
      }
      if (chance(50)) locks_.renew(stamp);
      locks_.release(stamp);
    }
  }

  const WorkerOptions& options_;
  RecordedLocks& locks_;
  FencedResource& resource_;
  const std::vector<HotName> names_;
  std::mt19937_64 dice_;
  const std::stop_token stop_;
  TimePoint next_long_;
  TimePoint next_orphan_;
  std::vector<Stamp> detached_;
  std::optional<RecordedLocks::Seen> seen_;
};

// Keeps the first error of any thread.
class FirstError {
 public:
  void take() {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
};

// From opening to the end: until `stop`.
class Life {
 public:
  // Null if `stop` came before the space could be opened.
  static std::unique_ptr<Life> begin(const WorkerOptions& options,
                                     const std::shared_ptr<test::Recorder>& recorder,
                                     FencedResource& resource, std::uint64_t seed,
                                     const std::stop_token& stop) {
    auto locks = RecordedLocks::open({.url = options.url,
                                      .app = "chaos-" + options.process,
                                      .lease = options.lease,
                                      .io_timeout = options.io_timeout,
                                      .lost_state = options.lost_state,
                                      .unfit = options.unfit,
                                      .tell_failures = options.tell_failures},
                                     recorder, stop);
    if (!locks) return nullptr;
    return std::unique_ptr<Life>(new Life(options, std::move(locks), resource, seed, stop));
  }
  // Its threads end on their own, or by an error, which stops the others.
  [[nodiscard]] std::stop_token ending() const { return over_.get_token(); }
  // Releases everything, closes, and throws the error if there was one.
  void end() {
    over_.request_stop();
    threads_.clear();
    error_.rethrow();
    locks_.reset();
  }
  ~Life() {
    over_.request_stop();
    threads_.clear();
  }
  Life(const Life&) = delete;
  Life& operator=(const Life&) = delete;

 private:
  Life(const WorkerOptions& options, std::unique_ptr<RecordedLocks> locks, FencedResource& resource,
       std::uint64_t seed, const std::stop_token& stop)
      : locks_(std::move(locks)), from_outside_(stop, [this] { over_.request_stop(); }) {
    for (std::size_t i = 0; i < options.threads; ++i) {
      threads_.emplace_back([this, &options, &resource, seed = seed * 64 + i] {
        try {
          Worker(options, *locks_, resource, seed, over_.get_token()).run();
        } catch (...) {
          error_.take();
          over_.request_stop();
        }
      });
    }
  }

  std::unique_ptr<RecordedLocks> locks_;
  std::stop_source over_;
  std::stop_callback<std::function<void()>> from_outside_;
  FirstError error_;
  std::vector<std::jthread> threads_;
};

void tell(const char* line) {
  std::puts(line);
  std::fflush(stdout);
}

// Pauses until then, or until either of them stops.
void pause_until(TimePoint until, const std::stop_token& stop) {
  while (!stop.stop_requested() && BootClock::now() < until) pause(milliseconds(5));
}

}  // namespace

std::string WorkerOptions::log_of(const std::string& name) const {
  return (std::filesystem::path(log).parent_path() / (name + ".log")).string();
}

void work(const WorkerOptions& options, std::shared_ptr<test::Recorder> recorder,
          const std::function<bool()>& stop) {
  std::stop_source over;
  const std::jthread watch([&](const std::stop_token& end) {
    while (!stop() && !end.stop_requested()) pause(milliseconds(20));
    over.request_stop();
  });
  FencedResource resource(options.resource, *recorder);
  std::mt19937_64 dice(options.seed);
  Forks forks(options, *recorder, stop);
  while (!over.stop_requested()) {
    const auto life = Life::begin(options, recorder, resource, dice(), over.get_token());
    if (!life) break;
    if (options.closes) {
      pause_until(BootClock::now() + milliseconds(300), life->ending());
      forks.fork_one(dice(), seconds(10));
      life->end();
      tell("closed");
      pause_until(TimePoint::max(), over.get_token());
      break;
    }
    if (!options.forks) {
      pause_until(TimePoint::max(), life->ending());
    } else {
      // Often enough that a process forks while it has much under way.
      pause_until(BootClock::now() + milliseconds(1000 + dice() % 4000), life->ending());
      if (!life->ending().stop_requested()) {
        forks.fork_one(dice(), milliseconds(1000 + dice() % 4000));
      }
      // It closes while the forked child works, or much later.
      const milliseconds more(dice() % 2 == 0 ? dice() % 500 : 2000 + dice() % 6000);
      pause_until(BootClock::now() + more, life->ending());
    }
    life->end();
  }
  forks.finish();
}

}  // namespace lockset::chaos
