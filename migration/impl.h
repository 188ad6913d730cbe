// The implementation of lockset::Migration. Each step changes one mark by compare-and-set; ADR 0035
// says which one and why that is safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/migrate/view.h"
#include "core/migration_mark.h"
#include "lockset/migration.h"
#include "migration/in_the_way.h"
#include "migration/store.h"

namespace lockset {

// How long nothing may block a step: a hold that expired, and is not shown any more, may come back
// by a renewal that is still under way.
inline constexpr Duration between_looks = 2 * std::chrono::seconds(5);

struct Migration::Impl {
  using Step = MigrationMark::Step;
  using Obstacle = migrate::Obstacle;
  template <class T>
  using Maybe = Result<std::optional<T>>;

  Impl(migrate::OpenStore from, migrate::OpenStore to, const Clock& clock);

  // Both stores at one instant: the new store's configuration has the same version before and after
  // the old store's is read.
  struct Seen {
    SpaceConfig old_config;
    MigrationMark old_mark;
    // Unset: the new store did not answer.
    std::optional<SpaceConfig> new_config;
    MigrationMark new_mark;
    Error new_trouble;  // why there is no new_config
    // Errc::misconfigured if the two marks don't belong together.
    Result<migrate::Stage> stage = migrate::Stage{};
  };
  Result<Seen> look(TimePoint by);
  [[nodiscard]] TimePoint half_way(TimePoint by) const;
  // A mark of the migration that `seen` shows.
  static MigrationMark mark(const Seen& seen, Step step);

  // One direction: what blocks the next step, and the step itself, which returns unset if a
  // configuration had changed since it was seen.
  struct Direction {
    Result<std::vector<Obstacle>> (Impl::*obstacles)(const Seen& seen, TimePoint by);
    Maybe<MigrationPhase> (Impl::*step)(const Seen& seen, TimePoint by);
  };
  static const Direction beginning;
  static const Direction ahead;
  static const Direction back;
  static const Direction ending;
  static const Direction releasing;

  // How often a step is tried again because a configuration changed meanwhile, for any reason.
  static constexpr int most_tries = 4;
  static Error changes_all_the_time();

  Result<std::vector<MigrationObstacle>> shown_obstacles(const Direction& direction, TimePoint by);
  // Waits if only time is missing, then takes the step.
  Result<MigrationPhase> go(const Direction& direction, TimePoint by);

  // --- steps_ahead.cpp ---
  Result<std::vector<Obstacle>> obstacles_to_begin(const Seen& seen, TimePoint by);
  Result<std::vector<Obstacle>> holds_in_new_space(TimePoint by);
  Maybe<MigrationPhase> begin(const Seen& seen, TimePoint by);
  Result<std::vector<Obstacle>> obstacles_ahead(const Seen& seen, TimePoint by);
  Maybe<MigrationPhase> step_ahead(const Seen& seen, TimePoint by);
  Maybe<MigrationPhase> switch_to_new(const Seen& seen, TimePoint by);
  Maybe<MigrationPhase> open_new(const Seen& seen, TimePoint by);
  Result<std::vector<Obstacle>> obstacles_to_end(const Seen& seen, TimePoint by);
  Maybe<MigrationPhase> end(const Seen& seen, TimePoint by);

  // --- steps_back.cpp ---
  // The new store is lost or can't be reached, and the migration has not switched the stamps yet:
  // it can be given up, because all its holds are in the old store.
  static bool without_new(const Seen& seen);
  Result<std::vector<Obstacle>> obstacles_back(const Seen& seen, TimePoint by);
  Maybe<MigrationPhase> step_back(const Seen& seen, TimePoint by);
  Maybe<MigrationPhase> back_from_new(const Seen& seen, TimePoint by);
  Maybe<MigrationPhase> switch_to_old(const Seen& seen, TimePoint by);
  Result<std::vector<Obstacle>> obstacles_to_release(const Seen& seen, TimePoint by);
  Maybe<MigrationPhase> release(const Seen& seen, TimePoint by);
  Result<MigrationPhase> release_new(TimePoint by, bool old_store_is_gone);

  // --- migration.cpp ---
  // Raises the old store's version if its configuration is as seen, and leaves its mark. Returns
  // the configuration afterwards. A step that takes the new store's mark back, or begins a new
  // migration, calls this first. So a process that decided on a change of the old store before that
  // finds another version: between two looks at one version of the old store, the new store's mark
  // may have gone on, but never back. (ADR 0035)
  Maybe<SpaceConfig> raise_old(const Seen& seen, TimePoint by);
  // Sets a mark and returns `phase`.
  static Maybe<MigrationPhase> set(migrate::SteeredStore& store, const SpaceConfig& seen,
                                   const MigrationMark& mark, MigrationPhase phase, TimePoint by);
  // Two processes that steered at once without knowing of each other may have left marks that don't
  // belong together; then nothing is granted. Returns the mark that mends that. Unset: nothing to
  // mend.
  std::optional<MigrationMark> mended_old_mark(const Seen& seen) const;
  // The hold that prevents others from steering at the same time. It is in the old store, because
  // no step is possible without that store.
  Result<migrate::ReservedHold> steer(TimePoint by);
  // No obstacle if `lines` is empty and was so for `needed`, under the same circumstances.
  std::vector<Obstacle> settled(std::vector<Obstacle> lines, migrate::Observation& observation,
                                const std::string& circumstances, Duration needed,
                                std::string_view watched);

  // --- status.cpp, plan.cpp ---
  Result<MigrationStatus> status(TimePoint by);
  Result<std::vector<Finding>> plan(TimePoint by);
  Result<std::size_t> copy_permits(TimePoint by);

  migrate::SteeredStore old_store;
  migrate::SteeredStore new_store;
  const Clock& clock;
  const Owner me;
  // A hold for steering whose release was not confirmed.
  Stamp last_steering;
  migrate::Observation legacy_gone;
  migrate::Observation old_drained;
  migrate::Observation new_drained;
};

}  // namespace lockset
