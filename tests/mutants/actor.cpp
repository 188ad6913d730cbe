#include "tests/mutants/actor.h"

#include <algorithm>
#include <thread>

#include "tests/support/recording_backend.h"
#include "tests/support/wait.h"

namespace lockset::mutants {
namespace {

using namespace std::chrono_literals;

void sleep_until(TimePoint time) { std::this_thread::sleep_for(time - BootClock::now()); }

}  // namespace

Actor::Actor(const Scene& scene, const std::string& name, std::uint64_t seed)
    : load_(scene.load),
      recorder_(std::make_shared<test::Recorder>(name)),
      client_(std::make_shared<test::RecordingBackend>(scene.connect(), recorder_), name),
      random_(seed) {}

void Actor::take_and_give_back(Resources* resources) {
  const TimePoint end = BootClock::now() + load_.round;
  while (BootClock::now() < end) step(resources);
}

void Actor::look(const std::atomic<bool>& stop) {
  while (!stop) {
    client_.inspect();
    std::this_thread::sleep_for(200us);
  }
}

void Actor::change_permits(const std::atomic<bool>& stop) {
  while (!stop) {
    const auto permits = static_cast<std::uint32_t>(1 + random_() % 3);
    client_.set_permits("a", chance(0.5) ? Mode::read : Mode::write, permits);
    std::this_thread::sleep_for(2ms);
  }
}

bool Actor::chance(double share) { return std::uniform_real_distribution<>(0, 1)(random_) < share; }

test::Wanted Actor::wanted() {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < load_.names; ++i) names.emplace_back(1, static_cast<char>('a' + i));
  std::shuffle(names.begin(), names.end(), random_);
  names.resize(1 + random_() % load_.largest_set);
  test::Wanted items;
  for (std::string& name : names) {
    items.push_back({std::move(name), chance(load_.reads) ? Mode::read : Mode::write});
  }
  return test::sorted(std::move(items));
}

std::vector<Expected> Actor::observe(const test::Wanted& items) {
  std::vector<std::string> names;
  for (const LockRequest& item : items) names.push_back(item.name);
  const std::vector<Trace> traces = client_.observe(names);
  std::vector<Expected> condition;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    if (traces[i].being_written) return {};
    condition.push_back({i, traces[i].last_write});
  }
  return condition;
}

void Actor::step(Resources* resources) {
  const test::Wanted items = wanted();
  std::vector<Expected> condition;
  if (chance(load_.observed)) {
    condition = observe(items);
    pause();
    if (condition.empty() || chance(0.3)) {
      observe(items);
      return;
    }
  }
  const TimePoint asked = BootClock::now();
  // Failures of the store are recorded and tolerated.
  const Result<AcquireOutcome> outcome =
      client_.ask(items, {.lease = load_.lease, .unchanged_since = condition});
  const Grant* const grant = outcome ? std::get_if<Grant>(&*outcome) : nullptr;
  if (grant == nullptr) return pause();
  const auto use = [&] {
    for (std::size_t i = 0; resources != nullptr && i < items.size(); ++i) {
      const Stamp floor = grant->floors.empty() ? grant->stamp : grant->floors[i];
      resources->use(items[i].name, grant->stamp, floor, *recorder_);
    }
  };
  use();
  keep(grant->stamp, asked);
  use();
  if (chance(load_.given_up)) return;
  release(grant->stamp);
  if (chance(load_.released_twice)) release(grant->stamp);
}

void Actor::pause() {
  std::this_thread::sleep_for(load_.keep * std::uniform_real_distribution<>(0, 1)(random_));
}

void Actor::keep(Stamp stamp, TimePoint asked) {
  if (chance(load_.renewed)) {
    while (BootClock::now() < asked + 2 * load_.lease) {
      std::this_thread::sleep_for(load_.lease / 4);
      renew(stamp);
    }
  } else if (chance(load_.overstaying)) {
    sleep_until(asked + load_.lease + load_.lease / 2);
    if (chance(load_.renewed_late)) renew(stamp);
  } else {
    pause();
  }
}

void Actor::renew(Stamp stamp) {
  const RenewRequest request{stamp, load_.lease};
  (void)client_.backend().renew(client_.owner(), {&request, 1}, test::soon());
}

void Actor::release(Stamp stamp) {
  (void)client_.backend().release(stamp, client_.owner().app, test::soon());
}

}  // namespace lockset::mutants
