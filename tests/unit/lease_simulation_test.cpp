// The core in virtual time: clients made of the real acquire loop and the real
// lease machine, against the memory store, over a network that loses, delays and
// repeats messages, with clients that are stopped or die. A seed decides all of it.
//
// What must hold at every event (SEM 20): no two incompatible holds are both valid.
// And at the end (SEM 13, 14): everybody got through, and nothing is left behind.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <queue>

#include "core/acquire_loop.h"
#include "core/lease_state.h"
#include "core/random.h"
#include "lockset/memory_backend.h"
#include "tests/support/manual_clock.h"

namespace lockset {
namespace {

using namespace std::chrono_literals;
using testing::ManualClock;

constexpr Duration io_timeout = 500ms;
constexpr std::uint32_t read_permits = 3;

// Runs what was planned, in the order of virtual time.
class Timeline {
 public:
  explicit Timeline(ManualClock& clock) : clock_(clock) {}

  void at(TimePoint when, std::function<void()> what) {
    plans_.push({std::max(when, clock_.now()), ++count_, std::move(what)});
  }
  // False when nothing is planned any more.
  bool step() {
    if (plans_.empty()) return false;
    const Plan plan = plans_.top();
    plans_.pop();
    clock_.set(plan.when);
    plan.what();
    return true;
  }

 private:
  struct Plan {
    TimePoint when;
    std::uint64_t order;
    std::function<void()> what;
    bool operator<(const Plan& other) const {
      return std::tie(other.when, other.order) < std::tie(when, order);
    }
  };
  ManualClock& clock_;
  std::uint64_t count_ = 0;
  std::priority_queue<Plan> plans_;
};

struct World {
  explicit World(std::uint64_t seed) : random(seed) {
    store = make_memory_backend(make_memory_store(clock));
    config =
        store->change_config(SetPermits{"*", Mode::read, read_permits}, TimePoint::max()).value();
    // Each run has a character of its own.
    loss_percent = random.below(25);
    late_percent = random.below(15);
    repeat_percent = random.below(15);
    stop_percent = random.below(15);
  }
  bool happens(std::uint64_t percent) { return random.below(100) < percent; }

  ManualClock clock;
  Random random;
  Timeline timeline{clock};
  std::unique_ptr<Backend> store;
  SpaceConfig config;
  std::uint64_t loss_percent, late_percent, repeat_percent, stop_percent;
  std::map<std::string, Stamp> last_writer;  // per name: the last grant of a write
  int grants = 0;
  int losses = 0;
  int adopted = 0;
};

class Client {
 public:
  Client(World& world, int number, int rounds)
      : world_(world), rounds_(rounds), owner_{"app", std::to_string(number), 0, "client"} {}

  void start() {
    plan(0ms, [this] { next_round(); });
  }

  [[nodiscard]] bool done() const { return rounds_ == 0; }
  [[nodiscard]] bool valid() const { return lease_ && lease_->valid(world_.clock.now()); }
  [[nodiscard]] const LockSet& set() const { return *set_; }

 private:
  // What this process does itself waits while it is stopped.
  void plan(Duration after, std::function<void()> what) {
    world_.timeline.at(world_.clock.now() + after, [this, what = std::move(what)]() mutable {
      if (world_.clock.now() < stopped_until_) {
        plan(stopped_until_ - world_.clock.now(), std::move(what));
      } else {
        what();
      }
    });
  }

  void next_round() {
    if (rounds_ == 0) return;
    std::vector<LockRequest> wanted;
    for (const char* name : {"a", "b", "c"}) {
      if (world_.happens(50))
        wanted.push_back({name, world_.happens(50) ? Mode::read : Mode::write});
    }
    if (wanted.empty()) wanted.push_back(write("a"));
    set_ = LockSet::make(std::move(wanted)).value();
    AcquireLoop::Settings settings;
    settings.patience = 1h;
    settings.push_wakeup = world_.happens(50);
    loop_ = std::make_unique<AcquireLoop>(settings, world_.random, [this] {
      Token token;
      for (auto& byte : token.bytes) byte = static_cast<std::uint8_t>(world_.random.next());
      return token;
    });
    carry_out(loop_->begin(world_.clock.now()));
  }

  // One question to the store over the network. `ask` runs at the store, `answer`
  // here: with its result, or with indeterminate when anything went missing.
  template <class Reply>
  void exchange(std::function<Result<Reply>()> ask, std::function<void(Result<Reply>)> answer) {
    struct Open {
      bool answered = false;
    };
    auto open = std::make_shared<Open>();
    const auto reply = [this, open, answer](Result<Reply> result, Duration after) {
      plan(after, [open, answer, result = std::move(result)] {
        if (std::exchange(open->answered, true)) return;
        answer(result);
      });
    };
    reply(Error{Errc::indeterminate, "no answer"}, io_timeout);
    if (world_.happens(world_.loss_percent / 3))
      return reply(Error{Errc::unavailable, "refused"}, 1ms);
    if (world_.happens(world_.loss_percent)) return;  // the request got lost
    const auto travel = [this] {
      return world_.happens(world_.late_percent) ? world_.random.between(400ms, 3s)
                                                 : world_.random.between(1ms, 20ms);
    };
    const int deliveries = world_.happens(world_.repeat_percent) ? 2 : 1;
    for (int i = 0; i < deliveries; ++i) {
      world_.timeline.at(world_.clock.now() + travel(), [this, ask, reply, travel] {
        Result<Reply> result = ask();
        if (!world_.happens(world_.loss_percent)) reply(std::move(result), travel());
      });
    }
  }

  void carry_out(AcquireLoop::Action action) {
    std::visit([this](const auto& step) { carry_out_one(step); }, action);
  }

  void carry_out_one(const AcquireLoop::Attempt& attempt) {
    const auto ask = [this, token = attempt.token, set = *set_]() -> Result<AcquireOutcome> {
      std::vector<std::uint32_t> permits;
      for (const LockRequest& item : set.items()) {
        permits.push_back(world_.config.permits_of(item.name).of(item.mode));
      }
      AcquireRequest request;
      request.set = &set;
      request.permits = permits;
      request.config_version = world_.config.version;
      request.token = token;
      request.owner = &owner_;
      request.lease = lease_length_;
      return world_.store->try_acquire(request);
    };
    exchange<AcquireOutcome>(ask, [this](Result<AcquireOutcome> outcome) {
      carry_out(loop_->attempted(std::move(outcome), world_.clock.now()));
    });
  }

  void carry_out_one(const AcquireLoop::Resolve& question) {
    exchange<std::optional<Grant>>(
        [this, token = question.token] { return world_.store->resolve(token, TimePoint::max()); },
        [this](Result<std::optional<Grant>> found) {
          if (found && *found) ++world_.adopted;
          carry_out(loop_->resolved(std::move(found), world_.clock.now()));
        });
  }

  void carry_out_one(const AcquireLoop::Discard& discard) {
    exchange<bool>(
        [this, stamp = discard.stamp] {
          return world_.store->release(stamp, "app", TimePoint::max());
        },
        [this](const Result<bool>&) { carry_out(loop_->discarded(world_.clock.now())); });
  }

  void carry_out_one(const AcquireLoop::Wait& wait) {
    plan(wait.until - world_.clock.now(), [this] { carry_out(loop_->waited(world_.clock.now())); });
  }

  void carry_out_one(const AcquireLoop::Finish& finish) {
    const auto* granted = std::get_if<AcquireLoop::Granted>(&finish);
    ASSERT_TRUE(granted) << "an acquire without deadline ends with a grant";
    ++world_.grants;
    stamp_ = granted->grant.stamp;
    lease_.emplace(granted->sent, granted->grant.lease);
    check_stamp_order();
    if (world_.happens(world_.stop_percent))
      stopped_until_ = world_.clock.now() + world_.random.between(100ms, 5s);
    plan(world_.random.between(0ms, 2 * lease_length_), [this, stamp = stamp_] { let_go(stamp); });
    plan_renewal();
    // As the watchdog does: the end is noticed without any message.
    watch();
  }

  // SEM 8: of two conflicting grants on a name the later has the greater stamp.
  void check_stamp_order() {
    for (const LockRequest& item : set_->items()) {
      Stamp& last = world_.last_writer[item.name];
      EXPECT_GT(stamp_, last) << item.name;
      if (item.mode == Mode::write) last = stamp_;
    }
  }

  void watch() {
    plan(lease_->valid_until() - world_.clock.now(), [this, stamp = stamp_] {
      if (!lease_ || stamp != stamp_) return;
      lease_->tick(world_.clock.now());
      if (lease_->phase() == LeaseState::Phase::lost) return;
      watch();
    });
  }

  void plan_renewal() {
    if (lease_->renew_at() == TimePoint::max()) return;
    plan(lease_->renew_at() - world_.clock.now(), [this, stamp = stamp_] {
      if (!lease_ || stamp != stamp_ || lease_->phase() != LeaseState::Phase::held) return;
      const TimePoint sent = world_.clock.now();
      const RenewRequest request{stamp, lease_length_, false, nullptr, {}};
      exchange<RenewReply>(
          [this, request] {
            return world_.store->renew(owner_, {&request, 1}, TimePoint::max());
          },
          [this, stamp, sent](Result<RenewReply> reply) {
            if (!lease_ || stamp != stamp_) return;
            if (!reply) {
              lease_->failed(world_.clock.now());
            } else if (reply->renewals.front()) {
              lease_->renewed(sent, reply->renewals.front()->lease, world_.clock.now());
            } else {
              lease_->denied();
            }
            plan_renewal();
          });
    });
  }

  void let_go(Stamp stamp) {
    if (lease_->release(world_.clock.now())) {
      send_release(stamp, 5);
    } else {
      ++world_.losses;
    }
    lease_.reset();
    --rounds_;
    plan(world_.random.between(0ms, 50ms), [this] { next_round(); });
  }

  void send_release(Stamp stamp, int tries) {
    exchange<bool>([this, stamp] { return world_.store->release(stamp, "app", TimePoint::max()); },
                   [this, stamp, tries](const Result<bool>& result) {
                     if (!result && tries > 0) send_release(stamp, tries - 1);
                   });
  }

  World& world_;
  int rounds_;
  const Owner owner_;
  const Duration lease_length_ = 1s;
  std::optional<LockSet> set_;
  std::unique_ptr<AcquireLoop> loop_;
  std::optional<LeaseState> lease_;
  Stamp stamp_;
  TimePoint stopped_until_{};
};

::testing::AssertionResult exclusive(const std::vector<std::unique_ptr<Client>>& clients) {
  std::map<std::string, std::array<std::uint32_t, 2>> counts;
  for (const auto& client : clients) {
    if (!client->valid()) continue;
    for (const LockRequest& item : client->set().items()) {
      ++counts[item.name][static_cast<std::size_t>(item.mode)];
    }
  }
  for (const auto& [name, count] : counts) {
    const auto [reads, writes] = count;
    if (writes > 1 || (writes > 0 && reads > 0) || reads > read_permits) {
      return ::testing::AssertionFailure()
             << name << ": " << writes << " valid writes and " << reads << " valid reads";
    }
  }
  return ::testing::AssertionSuccess();
}

struct Totals {
  int grants = 0, losses = 0, adopted = 0;
};

void run(std::uint64_t seed, Totals& totals) {
  World world(seed);
  std::vector<std::unique_ptr<Client>> clients;
  const int count = 2 + static_cast<int>(world.random.below(5));
  for (int i = 0; i < count; ++i) clients.push_back(std::make_unique<Client>(world, i, 5));
  for (const auto& client : clients) client->start();

  const TimePoint patience = world.clock.now() + 1h;
  while (world.timeline.step()) {
    ASSERT_TRUE(exclusive(clients));
    ASSERT_LT(world.clock.now(), patience) << "no progress";
  }
  for (const auto& client : clients) ASSERT_TRUE(client->done());
  world.clock.advance(2s);
  static_cast<void>(world.store->sweep(TimePoint::max()).value());
  EXPECT_TRUE(world.store->inspect({}, TimePoint::max()).value().holds.empty()) << "a leak";
  totals.grants += world.grants;
  totals.losses += world.losses;
  totals.adopted += world.adopted;
}

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

// LOCKSET_SIM_SEED and LOCKSET_SIM_RUNS repeat one run or make more of them.
TEST(LeaseSimulation, NoTwoIncompatibleHoldsAreEverValid) {
  const std::uint64_t first = from_environment("LOCKSET_SIM_SEED", 1);
  const std::uint64_t runs = from_environment("LOCKSET_SIM_RUNS", 5000);
  Totals totals;
  for (std::uint64_t seed = first; seed < first + runs; ++seed) {
    run(seed, totals);
    if (HasFailure()) FAIL() << "repeat with LOCKSET_SIM_RUNS=1 LOCKSET_SIM_SEED=" << seed;
  }
  RecordProperty("grants", totals.grants);
  // A test of faults that never happened would prove nothing.
  if (runs >= 1000) {
    EXPECT_GT(totals.grants, 10000);
    EXPECT_GT(totals.losses, 100) << "holds that ran out under their holders";
    EXPECT_GT(totals.adopted, 100) << "lost replies that were looked up";
  }
}

}  // namespace
}  // namespace lockset
