#include "tests/simulation/world.h"

#include <algorithm>
#include <boost/context/pooled_fixedsize_stack.hpp>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace lockset::simulation {
namespace {

World* the_running = nullptr;
// A run takes some ten thousand steps.
constexpr std::uint64_t endless = 2'000'000;

boost::context::pooled_fixedsize_stack& stacks() {
  static boost::context::pooled_fixedsize_stack pool(256 * 1024);
  return pool;
}

}  // namespace

World* World::running() noexcept { return the_running; }

World::World(Schedule& schedule) : schedule_(schedule) {
  history.push_back({"", "world", {}});
  the_running = this;
}

World::~World() {
  the_running = nullptr;
  // Unwinding an unfinished fiber would run destructors that want to wait. So it is leaked.
  for (auto& fiber : fibers_) {
    if (!fiber->done_) static_cast<void>(fiber.release());
  }
}

void World::at(TimePoint when, std::function<void()> what) {
  plans_.push({std::max(when, now_), ++planned_, std::move(what)});
}

bool World::run() {
  while (!plans_.empty()) {
    if (++steps_ > endless) return false;
    Plan plan = std::move(const_cast<Plan&>(plans_.top()));
    plans_.pop();
    now_ = plan.when;
    plan.what();
  }
  return std::all_of(fibers_.begin(), fibers_.end(), [](const auto& each) { return each->done_; });
}

Process& World::add_process(std::string name, std::uint32_t actor) {
  const std::uint64_t seed =
      schedule_.seed() * 0x2545F4914F6CDD1D ^ (std::hash<std::string>()(name) | 1);
  processes_.push_back(std::make_unique<Process>(Process{.name = name,
                                                         .actor = actor,
                                                         .chance = Random(seed),
                                                         .log = history.size(),
                                                         .killed = {},
                                                         .stopped_until = {}}));
  history.push_back({"", std::move(name), {}});
  return *processes_.back();
}

Fiber& World::spawn(Process& process, std::function<void()> run) {
  Fiber& fiber = *fibers_.emplace_back(std::make_unique<Fiber>(process, std::move(run)));
  fiber.waiting_ = true;
  at(now_, [this, &fiber] { resume(fiber, 0); });
  return fiber;
}

void World::enter(Fiber& fiber) {
  Fiber* const before = std::exchange(current_, &fiber);
  if (!fiber.inside_) {
    fiber.inside_ = boost::context::fiber(std::allocator_arg, stacks(),
                                          [&fiber](boost::context::fiber&& outside) {
                                            fiber.outside_ = std::move(outside);
                                            fiber.run_();
                                            fiber.done_ = true;
                                            return std::move(fiber.outside_);
                                          });
  }
  fiber.inside_ = std::move(fiber.inside_).resume();
  current_ = before;
  if (!fiber.done_) return;
  for (Fiber* const each : fiber.joining_) wake(*each);
}

// The end of a wait. A stopped process comes back later.
void World::resume(Fiber& fiber, std::uint64_t wait) {
  if (!fiber.waiting_ || fiber.wait_ != wait) return;
  Process& process = fiber.process_;
  if (process.stopped != nullptr && process.stopped != &fiber) {
    at(process.stopped_until, [this, &fiber, wait] { resume(fiber, wait); });
    return;
  }
  if (process.stopped == &fiber) return;  // the end of its pause is scheduled
  fiber.waiting_ = false;
  enter(fiber);
}

void World::wait(TimePoint until) {
  Fiber& fiber = *current_;
  const std::uint64_t wait = ++fiber.wait_;
  fiber.waiting_ = true;
  if (until != TimePoint::max()) at(until, [this, &fiber, wait] { resume(fiber, wait); });
  fiber.outside_ = std::move(fiber.outside_).resume();
}

void World::wake(Fiber& fiber) {
  if (!fiber.waiting_) return;
  at(now_, [this, &fiber, wait = fiber.wait_] { resume(fiber, wait); });
}

void World::join(Fiber& fiber) {
  while (!fiber.done_) {
    fiber.joining_.push_back(current_);
    wait(TimePoint::max());
  }
}

void World::not_waiting() {
  if (spins_at_ != now_) spins_ = 0;
  spins_at_ = now_;
  if (++spins_ < 10'000) return;
  spins_ = 0;
  complain("nobody spins", "a thread of " + current_->process_.name + " looks around all the time");
  wait(now_ + std::chrono::milliseconds(100));
}

TimePoint World::read_clock() {
  if (current_ == nullptr || calm_) return now_;
  Process& process = current_->process_;
  if (process.dead || pause_share_ == 0) return now_;
  const auto pause =
      schedule_.draw(Kind::pause, process.actor, pause_share_, 1'000'000, longest_pause_.count());
  if (!pause) return now_;
  const TimePoint read = now_;
  ++counts["pauses"];
  ++process.troubles;
  record(history::Stop{process.name});
  Fiber& fiber = *current_;
  process.stopped = &fiber;
  process.stopped_until = now_ + Duration(*pause);
  const std::uint64_t wait = ++fiber.wait_;
  fiber.waiting_ = true;
  at(process.stopped_until, [this, &fiber, &process, wait] {
    process.stopped = nullptr;
    record(history::Cont{process.name});
    resume(fiber, wait);
  });
  fiber.outside_ = std::move(fiber.outside_).resume();
  // Half of them stop before the reading, half after it.
  return *pause % 2 == 0 ? read : now_;
}

void World::kill(Process& process) {
  if (process.dead) return;
  record(history::Kill{process.name});
  ++counts["crashes"];
  process.dead = true;
  // Its fibers continue, so that they end; but nobody sees them any more.
  process.killed.request_stop();
}

void World::record(Process& process, history::What what) {
  if (!process.dead) history[process.log].events.push_back({now_, std::move(what)});
}

void World::record(history::What what) { history[0].events.push_back({now_, std::move(what)}); }

void World::complain(const std::string& rule, const std::string& story) {
  complaints_.push_back({rule, story});
}

}  // namespace lockset::simulation
