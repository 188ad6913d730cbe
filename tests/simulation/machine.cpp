// The machine under the core (core/machine.h, core/alarm.h), made from the running World. The
// linker uses these definitions instead of the library's.
#include "core/machine.h"

#include <cstdlib>

#include "core/alarm.h"
#include "core/fork_guard.h"
#include "tests/simulation/world.h"

namespace lockset {
namespace {

using simulation::Fiber;
using simulation::World;

// Threads of the core run only on fibers.
Fiber& fiber() {
  World* const world = World::running();
  if (world == nullptr || world->current() == nullptr) std::abort();
  return *world->current();
}

}  // namespace

TimePoint BootClock::now() noexcept {
  World* const world = World::running();
  return world == nullptr ? TimePoint{} : world->read_clock();
}

// A forked child is another process.
std::uint64_t fork_generation() noexcept {
  World* const world = World::running();
  const bool known = world != nullptr && world->current() != nullptr && world->guards_forks();
  return known ? world->current()->process().log : 0;
}

Token Token::random() {
  Random& chance = fiber().process().chance;
  Token token;
  for (std::uint8_t& byte : token.bytes) byte = static_cast<std::uint8_t>(chance.next() >> 32);
  return token;
}

Random& thread_random() { return fiber().process().chance; }

void sleep_until(TimePoint until, const std::stop_token& stop) {
  World& world = *World::running();
  Fiber& self = fiber();
  const std::stop_callback woken(stop, [&] { world.wake(self); });
  while (!stop.stop_requested() && world.now() < until) world.wait(until);
}

// --- threads ---

struct Thread::Impl {
  Fiber* fiber = nullptr;
};

Thread::Thread() noexcept = default;
Thread::~Thread() = default;

void Thread::start(std::function<void()> run) {
  Fiber& started = World::running()->spawn(fiber().process(), std::move(run));
  impl_ = std::make_unique<Impl>(Impl{&started});
}

bool Thread::joinable() const noexcept { return impl_ != nullptr; }

void Thread::join() {
  World::running()->join(*impl_->fiber);
  impl_.reset();
}

// --- alarms: bell_ is 1 when rung; the alarm's address identifies the waiting fiber ---

namespace {

std::unordered_map<const Alarm*, Fiber*>& waiting() {
  static std::unordered_map<const Alarm*, Fiber*> fibers;
  return fibers;
}

}  // namespace

Alarm::Alarm() : timer_(0), bell_(0) {}

Alarm::~Alarm() { waiting().erase(this); }

void Alarm::wait_until(TimePoint until) noexcept {
  World& world = *World::running();
  if (bell_ == 0 && world.now() < until) {
    waiting()[this] = &fiber();
    world.wait(until);
    waiting().erase(this);
  } else {
    world.not_waiting();
  }
  bell_ = 0;
}

void Alarm::ring() noexcept {
  bell_ = 1;
  const auto at = waiting().find(this);
  if (at != waiting().end()) World::running()->wake(*at->second);
}

}  // namespace lockset
