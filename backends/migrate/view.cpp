#include "backends/migrate/view.h"

#include <algorithm>
#include <set>
#include <string>

#include "core/migration_mark.h"

namespace lockset::migrate {
namespace {

using Step = MigrationMark::Step;

Error dont_belong_together(const std::string& why) {
  return {Errc::misconfigured, "the stores of migrate.from and migrate.to don't belong together: " +
                                   why + "; see `lockset migrate status`"};
}

// Whether the store is the old store of no migration.
bool free_to_leave(const MigrationMark& mark) {
  return mark.step == Step::none || mark.step == Step::done;
}

Result<Stage> stage_without_old(const MigrationMark& new_mark) {
  if (new_mark.step == Step::open) return Stage{MigrationPhase::new_only};
  if (new_mark.step == Step::done) return Stage{MigrationPhase::finished};
  return Error{Errc::unavailable, "the old store has to be asked, and was not"};
}

Result<Stage> stage_without_new(const MigrationMark& old_mark) {
  if (free_to_leave(old_mark)) return Stage{MigrationPhase::old_only};
  if (old_mark.step == Step::shadow) return Stage{MigrationPhase::shadow};
  return Error{Errc::unavailable, "the new store has to be asked, and was not"};
}

// The stage by the old store's mark, if the new one says that holds count in both.
Result<Stage> stage_before_open(const MigrationMark& old_mark) {
  switch (old_mark.step) {
    case Step::shadow:
      return Stage{MigrationPhase::shadow};
    case Step::dual_old:
      return Stage{MigrationPhase::dual_old};
    case Step::to_new:
      return Stage{MigrationPhase::dual_old, true};
    case Step::dual_new:
      return Stage{MigrationPhase::dual_new};
    case Step::to_old:
      return Stage{MigrationPhase::dual_new, true};
    default:
      return dont_belong_together("the old one is closed and the new one is not open");
  }
}

Result<Stage> stage_of_marks(const MigrationMark& old_mark, const MigrationMark& new_mark) {
  if (old_mark.of_old_store()) {
    if (!new_mark.of_new_store() || new_mark.migration != old_mark.migration) {
      return dont_belong_together("the old one moves to another store");
    }
    if (new_mark.step == Step::prepared) return stage_before_open(old_mark);
    if (new_mark.step == Step::done) {
      if (old_mark.step == Step::closed) return Stage{MigrationPhase::finished};
      return dont_belong_together("the move is finished, and the old one does not know of it");
    }
    if (old_mark.step == Step::closed) return Stage{MigrationPhase::closed};
    if (old_mark.step == Step::dual_new) return Stage{MigrationPhase::new_only};
    return dont_belong_together("the new one is open, and the old one was put back");
  }
  if (!free_to_leave(old_mark)) {
    return dont_belong_together("the old one is itself being moved to");
  }
  if (new_mark.step == Step::open || new_mark.step == Step::done) {
    return dont_belong_together("the new one was moved to, and the old one knows of no move");
  }
  if (new_mark.of_old_store() && new_mark.step != Step::closed) {
    return dont_belong_together("the new one is itself being left");
  }
  return Stage{MigrationPhase::old_only};
}

// Goes by entries, so that permits_of() of the result is the lower one for every name.
void lower_permits(SpaceConfig& into, const SpaceConfig& other) {
  const SpaceConfig mine = into;
  std::set<std::string> names{std::string(default_permits_name)};
  for (const auto& [name, entry] : mine.permits) names.insert(name);
  for (const auto& [name, entry] : other.permits) names.insert(name);
  const auto find = [](const SpaceConfig& config, const std::string& name) {
    const auto at = config.permits.find(name);
    return at == config.permits.end() ? SpaceConfig::Entry{} : at->second;
  };
  for (const std::string& name : names) {
    const SpaceConfig::Entry one = find(mine, name);
    const SpaceConfig::Entry two = find(other, name);
    const Permits least_one = mine.permits_of(name);
    const Permits least_two = other.permits_of(name);
    SpaceConfig::Entry lower;
    if (one.read || two.read) lower.read = std::min(least_one.read, least_two.read);
    if (one.write || two.write) lower.write = std::min(least_one.write, least_two.write);
    if (lower == SpaceConfig::Entry{}) continue;
    into.permits[name] = lower;
  }
}

Result<Stage> stage_of_configs(const std::optional<SpaceConfig>& old_config,
                               const std::optional<SpaceConfig>& new_config) {
  MigrationMark old_mark;
  MigrationMark new_mark;
  for (const auto& [config, mark] :
       {std::pair(&old_config, &old_mark), std::pair(&new_config, &new_mark)}) {
    if (!*config) continue;
    Result<MigrationMark> read = MigrationMark::decode((*config)->migration_phase);
    if (!read) return read.error();
    *mark = *read;
  }
  if (!old_config && !new_config) {
    return Error{Errc::unavailable, "neither the old store nor the new one was asked"};
  }
  if (!old_config) return stage_without_old(new_mark);
  if (!new_config) return stage_without_new(old_mark);
  return stage_of_marks(old_mark, new_mark);
}

// The number of the migration, by two configurations that make up a stage other than old-only.
std::uint32_t migration_of(const std::optional<SpaceConfig>& old_config,
                           const std::optional<SpaceConfig>& new_config) {
  const std::optional<SpaceConfig>& says = new_config ? new_config : old_config;
  return MigrationMark::decode(says->migration_phase)->migration;
}

}  // namespace

Result<Stage> stage_of(const std::optional<SpaceConfig>& old_config,
                       const std::optional<SpaceConfig>& new_config) {
  Result<Stage> stage = stage_of_configs(old_config, new_config);
  if (stage && stage->phase != MigrationPhase::old_only) {
    stage->migration = migration_of(old_config, new_config);
  }
  return stage;
}

SpaceConfig put_together(MigrationPhase phase, const std::optional<SpaceConfig>& old_config,
                         const std::optional<SpaceConfig>& new_config) {
  SpaceConfig result;
  const bool old_counts = in_old(phase) && old_config;
  const bool new_counts = in_new(phase) && new_config;
  if (old_counts) result = *old_config;
  if (new_counts) {
    if (old_counts) {
      lower_permits(result, *new_config);
      result.max_lease = std::min(result.max_lease, new_config->max_lease);
      result.max_overtakes = std::min(result.max_overtakes, new_config->max_overtakes);
      result.stamp_base = std::max(result.stamp_base, new_config->stamp_base);
    } else {
      result = *new_config;
    }
  }
  result.version = (old_config ? old_config->version : 0) + (new_config ? new_config->version : 0);
  result.migration_phase = 0;
  result.epochs.clear();
  return result;
}

}  // namespace lockset::migrate
