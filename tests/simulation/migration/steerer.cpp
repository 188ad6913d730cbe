#include "tests/simulation/migration/steerer.h"

#include "core/machine.h"
#include "core/random.h"
#include "lockset/forwarding_backend.h"

namespace lockset::simulation {

using namespace std::chrono_literals;

namespace {

// Somebody who is stopped now and then between looking and acting.
class Hesitant final : public ForwardingBackend {
 public:
  Hesitant(World& world, const Setting& setting, Process& process, Line& line)
      : ForwardingBackend(std::make_unique<Remote>(line)),
        world_(world),
        setting_(setting),
        process_(process) {}
  Result<SpaceConfig> change_config(const ConfigChange& change, TimePoint by) override {
    const auto share = static_cast<double>(process_.chance.below(1000)) / 1000;
    if (!world_.calm() && share < setting_.hesitates) {
      const Duration time = process_.chance.between(Duration::zero(), setting_.hesitation);
      sleep_until(world_.now() + time, process_.killed.get_token());
    }
    return inner().change_config(change, by);
  }

 private:
  World& world_;
  const Setting& setting_;
  Process& process_;
};

}  // namespace

std::unique_ptr<Steering> Steerer::steering() {
  auto from = std::make_unique<Hesitant>(world_, setting_, process_, lines_.old_line);
  auto to = std::make_unique<Hesitant>(world_, setting_, process_, lines_.new_line);
  return setting_.by_hand ? steer_by_hand(std::move(from), std::move(to), setting_.mutant)
                          : steer_by_product(std::move(from), std::move(to));
}

void Steerer::sleep(Duration time) {
  sleep_until(world_.now() + time, process_.killed.get_token());
}

void Steerer::wander() {
  const std::unique_ptr<Steering> steering = this->steering();
  const TimePoint calm = setting_.old_store.calm;
  std::optional<bool> went_on;  // the direction of the last step that succeeded
  while (!process_.dead && world_.now() < calm) {
    const auto drawn =
        world_.schedule().draw(Kind::steer, process_.actor, 1, 0, std::int64_t{1} << 40);
    if (!drawn) {
      sleep(500ms);
      continue;
    }
    Random random(static_cast<std::uint64_t>(*drawn));
    const auto share = [&] { return static_cast<double>(random.below(1000)) / 1000; };
    // Often at once: nobody may rely on others having noticed.
    if (share() >= setting_.bursts)
      sleep(random.below(3) == 0 ? random.between(0ms, 50ms) : random.between(0ms, 2500ms));
    if (process_.dead || world_.now() >= calm) return;
    if (share() < setting_.steering_crashes) {
      world_.after(random.between(0ms, 200ms), [this] { world_.kill(process_); });
    }
    const TimePoint by = world_.now() + random.between(500ms, random.below(2) == 0 ? 5s : 25s);
    const bool back = setting_.rocks && went_on ? *went_on : share() < setting_.backwards;
    const Result<MigrationPhase> now = back ? steering->back(by) : steering->forward(by);
    ++world_.counts[std::string(back ? "back" : "forward") +
                    (now ? "" : ": " + std::string(to_string(now.error().code)))];
    if (now) went_on = !back;
    if (now) ++world_.counts["phase reached: " + std::string(to_string(*now))];
  }
}

std::optional<MigrationPhase> Steerer::bring_home() {
  const std::unique_ptr<Steering> steering = this->steering();
  const TimePoint last = setting_.old_store.settled;
  std::string why = "no time";
  while (world_.now() < last) {
    const TimePoint by = world_.now() + 20s;
    Result<MigrationPhase> now = steering->phase(by);
    if (now && *now == MigrationPhase::finished) return *now;
    if (now && !setting_.ends_finished && *now == MigrationPhase::old_only) return *now;
    if (now && !setting_.ends_finished) {
      now = steering->back(by);
    } else if (now && *now == MigrationPhase::closed) {
      now = steering->finish(by);
    } else if (now) {
      now = steering->forward(by);
    }
    if (now) continue;
    why = std::string(to_string(now.error().code)) + ": " + now.error().message;
    sleep(500ms);
  }
  world_.complain("a migration can be brought to its end or its start",
                  "long after all is calm it is at neither: " + why);
  return {};
}

}  // namespace lockset::simulation
