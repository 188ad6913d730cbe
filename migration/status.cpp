// The state of a migration, even if one of the stores can't be asked.
#include "migration/clients.h"
#include "migration/differences.h"
#include "migration/impl.h"

namespace lockset {
namespace {

// What one store's mark alone tells.
MigrationPhase earliest_phase(const MigrationMark& mark) {
  using Step = MigrationMark::Step;
  switch (mark.step) {
    case Step::none:
    case Step::prepared:
      return MigrationPhase::old_only;
    case Step::shadow:
      return MigrationPhase::shadow;
    case Step::dual_old:
    case Step::to_new:
      return MigrationPhase::dual_old;
    case Step::dual_new:
    case Step::to_old:
      return MigrationPhase::dual_new;
    case Step::open:
      return MigrationPhase::new_only;
    case Step::closed:
      return MigrationPhase::closed;
    case Step::done:
      return MigrationPhase::finished;
  }
  return MigrationPhase::old_only;
}

// If only one store answers: which phases its mark leaves open.
std::string open_question(const MigrationMark& mark) {
  using Step = MigrationMark::Step;
  switch (mark.step) {
    case Step::prepared:
      return "the phase is known to be one before new-only, and no more";
    case Step::dual_new:
      return "the phase may also be new-only";
    case Step::open:
      return "the phase may also be closed";
    case Step::closed:
      return "the phase may also be finished";
    default:
      return {};
  }
}

}  // namespace

Result<MigrationStatus> Migration::Impl::status(TimePoint by) {
  MigrationStatus status;
  const TimePoint now = clock.now();
  const TimePoint half = now + (by - now) / 2;

  // Reads the new store before the old one, as for the steps; and again if a step came in between.
  Result<SpaceConfig> of_new = new_store.load(half);
  Result<SpaceConfig> of_old = old_store.load(by);
  if (!of_old && !of_new) return std::move(of_old).error();
  const auto mark_of = [](const Result<SpaceConfig>& config) -> Result<MigrationMark> {
    if (!config) return MigrationMark{};
    return MigrationMark::decode(config->migration_phase);
  };
  Result<MigrationMark> old_mark = mark_of(of_old);
  if (!old_mark) return old_store.named(old_mark.error());
  Result<MigrationMark> new_mark = mark_of(of_new);
  if (!new_mark) return new_store.named(new_mark.error());

  if (of_old && of_new) {
    const Result<Seen> seen = look(by);
    if (!seen) return seen.error();
    if (seen->stage) {
      status.phase = seen->stage->phase;
      status.switching = seen->stage->switching;
      if (status.phase == MigrationPhase::old_only && seen->new_mark.step == Step::prepared) {
        status.new_space_kept = true;
        status.notes.push_back(
            "the new space is kept for the move, and programs with its address alone are refused: "
            "`lockset migrate start` begins (again), `lockset migrate release-new` gives it free");
      }
    } else if (mended_old_mark(*seen)) {
      status.phase = earliest_phase(seen->old_mark);
      status.switching = true;
      status.notes.push_back(
          "two steps were taken at once, and nothing is granted: the next `lockset migrate "
          "advance`, `rollback` or `finish` mends it");
    } else if (seen->new_config && without_new(*seen)) {
      status.phase = earliest_phase(seen->old_mark);
      status.notes.push_back(seen->stage.error().message);
      status.notes.push_back(
          "the new store knows of no move: `lockset migrate rollback --to old-only` gives it up");
    } else if (seen->stage.error().code == Errc::unavailable) {
      status.phase = earliest_phase(seen->old_mark);
      status.certain = open_question(seen->old_mark).empty();
      status.notes.push_back(seen->new_trouble.message);
    } else {
      return seen->stage.error();
    }
    of_old = seen->old_config;
    if (seen->new_config) of_new = *seen->new_config;
  } else {
    const MigrationMark& known = of_old ? *old_mark : *new_mark;
    status.phase = earliest_phase(known);
    status.switching = known.switching();
    status.notes.push_back((of_old ? of_new : of_old).error().message);
    if (const std::string question = open_question(known); !question.empty()) {
      status.certain = false;
      status.notes.push_back(question);
    }
  }
  if (status.switching && of_old) {
    status.notes.push_back(
        "a switch is under way, and nothing is granted: the same step takes it up again; clients "
        "set it back within seconds");
  }

  std::uint32_t migration = old_mark->of_old_store() ? old_mark->migration : new_mark->migration;
  if (status.phase == MigrationPhase::old_only) migration = 0;
  const Result<Inspection> in_old =
      of_old ? old_store.inspect(by) : Result<Inspection>(Error(of_old.error()));
  const Result<Inspection> in_new =
      of_new ? new_store.inspect(by) : Result<Inspection>(Error(of_new.error()));
  if (of_old && !in_old) status.notes.push_back(in_old.error().message);
  if (of_new && !in_new) status.notes.push_back(in_new.error().message);
  for (const auto& [seen, holds, called] :
       {std::tuple(&in_old, &status.in_old, old_store.called()),
        std::tuple(&in_new, &status.in_new, new_store.called())}) {
    if (!*seen) continue;
    *holds = migrate::count_holds(**seen, migration);
    if (const auto lost = migrate::quarantine_in_the_way(**seen, called)) {
      status.notes.push_back(lost->shown.text);
    }
  }
  status.clients =
      migrate::clients_of(in_old ? &*in_old : nullptr, in_new ? &*in_new : nullptr, migration);
  if (in_new) status.shadow = migrate::sum_of_reports(*in_new);
  if (status.phase == MigrationPhase::shadow && in_new && status.shadow.clients == 0) {
    status.notes.push_back("no client has reported how the new store does so far");
  }
  const bool both_count =
      status.phase >= MigrationPhase::shadow && status.phase <= MigrationPhase::dual_new;
  if (both_count && of_old && of_new && !migrate::changes_to_copy(*of_old, *of_new).empty()) {
    status.notes.push_back(
        "permits or the longest lease of the two stores differ, and the lower ones count: set "
        "them with migrate.from and migrate.to, or `lockset migrate plan --copy-permits`");
  }
  return status;
}

}  // namespace lockset
