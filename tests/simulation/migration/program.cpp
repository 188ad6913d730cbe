#include "tests/simulation/migration/program.h"

#include <algorithm>
#include <utility>

#include "backends/migrate/backend.h"
#include "backends/migrate/view.h"
#include "core/migration_mark.h"
#include "tests/simulation/migration/mutants.h"

namespace lockset::simulation {

using namespace std::chrono_literals;

const char* to_string(Configured how) noexcept {
  switch (how) {
    case Configured::old_alone:
      return "old";
    case Configured::migrate:
      return "migrate";
    case Configured::new_alone:
      return "new";
  }
  return "";
}

Client::Connect connect(Configured how, Lines& lines, Stores& stores, const Setting& setting) {
  using Opened = Result<std::unique_ptr<Backend>>;
  const Mutant mutant = setting.mutant;
  switch (how) {
    case Configured::old_alone:
      return [&lines, mutant](TimePoint) -> Opened {
        return lone_store_of(mutant, std::make_unique<Remote>(lines.old_line));
      };
    case Configured::new_alone:
      // Before a migration has begun, anybody may use the new space: a client that comes too early
      // can't be recognised.
      return [&lines, &stores](TimePoint) -> Opened {
        return only_while([&stores] { return stores.marks().of_new != 0; },
                          std::make_unique<Remote>(lines.new_line));
      };
    case Configured::migrate:
      break;
  }
  return [&lines, mutant](TimePoint by) {
    return migrate::open_migrate_backend(
        [&lines, mutant](TimePoint) -> Opened {
          return old_store_of(mutant, std::make_unique<Remote>(lines.old_line));
        },
        [&lines, mutant](TimePoint) -> Opened {
          return new_store_of(mutant, std::make_unique<Remote>(lines.new_line));
        },
        by);
  };
}

void Program::run() {
  const std::string kind = to_string(how_);
  ++world_.counts["programs: " + kind];
  std::optional<Locks> locks = open(ends_);
  if (!locks) return;
  ++world_.counts["lives: " + kind];
  std::vector<Fiber*> threads;
  for (std::uint32_t i = 1; i < profile_.threads; ++i) {
    threads.push_back(&world_.spawn(process_, [this, &locks, i] { work(*locks, i); }));
  }
  work(*locks, 0);
  for (Fiber* const each : threads) world_.join(*each);
}

void Program::work(Locks& locks, std::uint32_t thread) {
  while (!process_.dead && world_.now() < ends_) {
    const auto chance =
        world_.schedule().draw(Kind::round, process_.actor, 1, 0, std::int64_t{1} << 40);
    if (!chance) {
      sleep(500ms);
      continue;
    }
    round(locks, static_cast<std::uint64_t>(*chance) + thread);
  }
}

bool Program::expects(const Error& error, TimePoint asked) const {
  ++world_.counts["refused " + std::string(to_string(how_)) + ": " +
                  std::string(to_string(error.code))];
  if (error.code != Errc::unavailable && error.code != Errc::misconfigured) return false;
  const std::vector<Stores::Marks> marks = stores_.marks_since(asked);
  return std::any_of(marks.begin(), marks.end(),
                     [&](const Stores::Marks& at) { return refusal(at) == error.code; });
}

// The error that a program with this configuration gets while the marks are these; unset: it may
// take holds.
std::optional<Errc> Program::refusal(const Stores::Marks& marks) const {
  if (how_ == Configured::migrate) {
    SpaceConfig of_old;
    SpaceConfig of_new;
    of_old.migration_phase = marks.of_old;
    of_new.migration_phase = marks.of_new;
    const Result<migrate::Stage> stage = migrate::stage_of(of_old, of_new);
    if (!stage) return stage.error().code;
    if (stage->switching) return Errc::unavailable;
    return {};
  }
  // The space does not exist yet.
  if (how_ == Configured::new_alone && marks.of_new == 0) return Errc::unavailable;
  const Status may = may_use_alone(how_ == Configured::new_alone ? marks.of_new : marks.of_old);
  if (!may) return may.error().code;
  return {};
}

}  // namespace lockset::simulation
