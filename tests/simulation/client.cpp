#include "tests/simulation/client.h"

#include <utility>

#include "core/machine.h"
#include "tests/simulation/round.h"

namespace lockset::simulation {

using namespace std::chrono_literals;

void Resource::use(const std::string& name, Stamp stamp, Stamp floor) {
  Stamp& least = floors_[name];
  const bool accepted = stamp >= least;
  if (accepted) least = std::max(least, floor);
  world_.record(history::Use{stamp, name, accepted});
  ++world_.counts[accepted ? "uses accepted" : "uses refused"];
}

void Client::complain(const std::string& rule, Stamp stamp, const std::string& why) const {
  const Fate* const fate = truth_.fate(stamp);
  std::string story = process_.name + ", stamp " + std::to_string(stamp.value) + ": " + why;
  if (fate != nullptr) {
    constexpr const char* ends[] = {"it was not ended there", "it was released there",
                                    "it was broken there",    "it was reclaimed there",
                                    "it was forgotten there", "it was upgraded there",
                                    "it was downgraded there"};
    story += "\n  granted in the store at " +
             std::to_string((fate->granted - TimePoint(1h)) / 1us) + " us; " +
             ends[static_cast<int>(fate->end)];
  }
  story += "\n  now " + std::to_string((world_.now() - TimePoint(1h)) / 1us) + " us";
  world_.complain(rule, story);
}

void Client::sleep(Duration time) { sleep_until(world_.now() + time, process_.killed.get_token()); }

namespace {

class ToldOfSteps final : public Observer {
 public:
  explicit ToldOfSteps(Told& told, World& world) : told_(told), world_(world) {}
  void on_event(const Event& event) noexcept override {
    if (event.kind == Event::Kind::clock_stepped) told_.told_of_step = true;
    if (event.kind == Event::Kind::stale) ++world_.counts["stale answers"];
    if (event.kind == Event::Kind::lost) ++world_.counts["losses"];
  }

 private:
  Told& told_;
  World& world_;
};

}  // namespace

bool Client::expects(const Error& error, TimePoint) const {
  if (error.code != Errc::rolled_back) return false;
  // The store may have forgotten that this instance took its application over.
  const bool forgotten = reclaims() && truth_.lost_state() != TimePoint::max();
  return forgotten || profile_.world == Profile::World::restored;
}

std::optional<Locks> Client::open(TimePoint until) {
  Options options;
  const bool shared = reclaims();
  options.app = shared ? "jobs" : "app-" + std::to_string(process_.actor);
  options.reclaim = shared;
  options.lease = 2s;
  options.label = process_.name;
  options.io_timeout = profile_.io_timeout;
  options.store_patience = profile_.patience;
  options.refresh_config = 2s;
  options.observer = std::make_shared<ToldOfSteps>(told_, world_);
  while (!process_.dead && world_.now() < until) {
    const std::uint64_t troubles = process_.troubles;
    const TimePoint asked = world_.now();
    Error error;
    if (Result<std::unique_ptr<Backend>> store = connect_(asked + profile_.io_timeout)) {
      Result<Locks> locks = lockset::open(
          std::make_unique<Noting>(std::move(*store), world_, truth_, process_, told_), options);
      if (locks) return std::move(*locks);
      error = std::move(locks).error();
    } else {
      error = std::move(store).error();
    }
    const bool expected =
        troubles != process_.troubles || error.code == Errc::app_in_use || expects(error, asked);
    if (!expected && !process_.dead && !shared) {
      world_.complain("trouble from nowhere",
                      process_.name + " could not open: " + std::string(to_string(error.code)) +
                          ": " + error.message);
    }
    ++world_.counts["opens that failed"];
    sleep(300ms);
  }
  return {};
}

void Client::run() {
  std::optional<Locks> locks = open(profile_.settled);
  if (!locks) return;
  ++world_.counts["lives"];
  std::vector<Fiber*> threads;
  for (std::uint32_t i = 1; i < profile_.threads; ++i) {
    threads.push_back(&world_.spawn(process_, [this, &locks, i] { work(*locks, i); }));
  }
  work(*locks, 0);
  for (Fiber* const each : threads) world_.join(*each);
  // Stays, as services do: living clients tidy up what is in doubt.
  sleep_until(profile_.settled + 1ms, process_.killed.get_token());
  if (profile_.world == Profile::World::stepped && told_.renewed_after_step &&
      !told_.told_of_step && !process_.dead) {
    world_.complain("a step of the store's clock is told",
                    process_.name + " renewed before and after the step and was not told of it");
  }
}

void Client::work(Locks& locks, std::uint32_t thread) {
  for (int rounds = 0; rounds < profile_.rounds && !process_.dead; ++rounds) {
    // The last two, after all is calm again.
    if (rounds == profile_.rounds - 2) sleep_until(profile_.calm, process_.killed.get_token());
    const auto chance =
        world_.schedule().draw(Kind::round, process_.actor, 1, 0, std::int64_t{1} << 40);
    if (!chance || process_.dead) continue;
    round(locks, static_cast<std::uint64_t>(*chance) + thread);
  }
}

void Client::round(Locks& locks, std::uint64_t chance) { Round(*this, locks, chance).run(); }

void Client::administer() {
  std::optional<Locks> locks = open(profile_.settled);
  if (!locks) return;
  std::string name;
  Mode mode = Mode::read;
  while (!process_.dead && world_.now() < profile_.calm) {
    const auto drawn =
        world_.schedule().draw(Kind::round, process_.actor, 1, 0, std::int64_t{1} << 40);
    if (!drawn) {
      sleep(500ms);
      continue;
    }
    Random random(static_cast<std::uint64_t>(*drawn));
    TimePoint next = world_.now() + random.between(100ms, 3s);
    // An administrator who restores a store checks it afterwards, and repeats what the restore
    // undid.
    const bool after_it = world_.now() < profile_.disturbed && next > profile_.disturbed;
    if (after_it) next = profile_.disturbed + random.between(1ms, 100ms);
    sleep_until(next, process_.killed.get_token());
    const std::string other(1, static_cast<char>('a' + random.below(4)));
    const Mode other_mode = random.below(2) == 0 ? Mode::read : Mode::write;
    if (!after_it || name.empty()) {
      name = other;
      mode = other_mode;
    }
    const std::uint32_t value = 1 + static_cast<std::uint32_t>(random.below(3));
    while (!process_.dead && !locks->set_permits(name, mode, value)) sleep(200ms);
    ++world_.counts["permits changed"];
  }
}

void Client::check_settled() {
  const bool excused =
      profile_.world == Profile::World::stepped || profile_.world == Profile::World::restored;
  if (process_.dead || excused) return;
  const TimePoint old = world_.now() - 7s;
  for (const auto& [stamp, fate] : truth_.fates()) {
    const bool nobodys = fate.of_application || fate.stray || fate.back;
    if (fate.process != &process_ || nobodys || fate.granted > old) {
      continue;
    }
    const auto unconfirmed = told_.unconfirmed.find(stamp);
    const bool let_go = unconfirmed != told_.unconfirmed.end() && unconfirmed->second <= old;
    if (told_.known.contains(stamp) && !let_go) continue;
    if (!truth_.live(stamp)) continue;
    complain("no ghosts", stamp,
             let_go ? "released without an answer, long ago, and still there"
                    : "granted to nobody who knows of it, long ago, and still there");
  }
}

}  // namespace lockset::simulation
