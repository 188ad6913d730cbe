// The steps back to the old store.
#include "migration/impl.h"

namespace lockset {
namespace {

// The old store's stamps continue this far above the new store's last ones, in microseconds, as
// stamps are. This leaves room for grants between two looks, if others set the mark back and on
// again.
constexpr std::int64_t room = 10'000'000;

constexpr std::string_view drain_new =
    "it does not stand in the old store: let it end, or release or break it";

}  // namespace

bool Migration::Impl::without_new(const Seen& seen) {
  const bool lost = !seen.new_config || seen.new_mark.step == Step::none;
  return lost && (seen.old_mark.step == Step::shadow || seen.old_mark.step == Step::dual_old);
}

Result<std::vector<Migration::Impl::Obstacle>> Migration::Impl::obstacles_back(const Seen& seen,
                                                                               TimePoint by) {
  std::vector<Obstacle> found;
  if (without_new(seen)) return found;
  if (!seen.new_config) return seen.new_trouble;
  if (!seen.stage) return seen.stage.error();
  switch (seen.stage->phase) {
    case MigrationPhase::old_only:
      if (seen.new_mark.step == Step::prepared) {
        return Error{Errc::invalid,
                     "no migration has begun: there is nothing to take back; the new space is "
                     "still kept for one: `lockset migrate release-new` gives it free"};
      }
      return Error{Errc::invalid, "no migration has begun: there is nothing to take back"};
    case MigrationPhase::finished:
      return Error{Errc::invalid,
                   "the migration is finished, and there is no way back; to move to the other "
                   "store begin a new one, with migrate.from and migrate.to exchanged"};
    case MigrationPhase::dual_new: {
      const Result<Inspection> in_new = new_store.inspect(by);
      if (!in_new) return in_new.error();
      found = migrate::holds_in_the_way(
          *in_new, "the new store alone", drain_new, [&](const Owner& owner) {
            return migrate::stands_in_new_alone(owner, seen.stage->migration);
          });
      if (auto lost = migrate::quarantine_in_the_way(*in_new, "the new store")) {
        found.push_back(*lost);
      }
      // The process that set this mark has waited, and nothing was granted since. But a store that
      // was restored from a backup may have this mark from another time.
      if (seen.old_mark.step == Step::to_old) return found;
      // The new store's version grows whenever it was open in between.
      return settled(
          std::move(found), new_drained,
          std::to_string(seen.new_config->version) + "/" + std::to_string(seen.old_mark.encode()),
          between_looks, "no hold stands in the new store alone");
    }
    default:
      return found;
  }
}

Migration::Impl::Maybe<MigrationPhase> Migration::Impl::step_back(const Seen& seen, TimePoint by) {
  switch (seen.old_mark.step) {
    case Step::shadow:
      // The new store's mark stays: clients that use it alone are refused as before.
      return set(old_store, seen.old_config, MigrationMark{}, MigrationPhase::old_only, by);
    case Step::dual_old:
      return set(old_store, seen.old_config, mark(seen, Step::shadow), MigrationPhase::shadow, by);
    case Step::to_new:
      // A way ahead that was not finished: nothing of it has taken effect.
      return set(old_store, seen.old_config, mark(seen, Step::dual_old), MigrationPhase::dual_old,
                 by);
    case Step::to_old:
      return switch_to_old(seen, by);
    case Step::dual_new:
      if (seen.new_mark.step == Step::prepared) return switch_to_old(seen, by);
      return back_from_new(seen, by);
    case Step::closed:
      return set(old_store, seen.old_config, mark(seen, Step::dual_new), MigrationPhase::new_only,
                 by);
    default:
      return Error{Errc::internal, "a step back from a phase that has none"};
  }
}

// The old store's version is raised first. A process that has found the new store drained, and is
// about to go back to dual-old, then decides again: by now holds may be in the new store alone.
Migration::Impl::Maybe<MigrationPhase> Migration::Impl::back_from_new(const Seen& seen,
                                                                      TimePoint by) {
  const Maybe<SpaceConfig> of_old = raise_old(seen, by);
  if (!of_old) return of_old.error();
  if (!*of_old) return std::optional<MigrationPhase>();
  return set(new_store, *seen.new_config, mark(seen, Step::prepared), MigrationPhase::dual_new, by);
}

// The old store still has the version at which the new one was found drained. Since then the new
// one was at most opened, and then this step has no effect (raise_old). So any process that finds
// this mark may continue the switch.
//
// Raises the old store's stamp base above everything that the new store has granted, while nothing
// is granted. That is proved, not only likely. The last stamp is drawn after the last look at the
// old store's mark; if the change to dual_old succeeds, the mark was unchanged since then. It is
// also drawn after the new store's version grew, so that no earlier request is granted any more.
Migration::Impl::Maybe<MigrationPhase> Migration::Impl::switch_to_old(const Seen& seen,
                                                                      TimePoint by) {
  const MigrationMark switching = mark(seen, Step::to_old);
  if (seen.old_mark.step != Step::to_old) {
    const Maybe<SpaceConfig> begun = old_store.set_mark(seen.old_config, switching, by);
    if (!begun) return begun.error();
    if (!*begun) return std::optional<MigrationPhase>();
  }
  const Result<SpaceConfig> of_new = new_store.load(by);
  if (!of_new) return of_new.error();
  const Maybe<Stamp> about = new_store.draw_stamp(of_new->version, me, by);
  if (!about) return about.error();
  if (!*about) return std::optional<MigrationPhase>();
  const Stamp base{(*about)->value + room};
  const Result<SpaceConfig> raised = old_store.raise_stamps(base, by);
  if (!raised) return raised.error();
  // Clients set the mark back if the switch takes too long.
  if (raised->migration_phase != switching.encode()) return std::optional<MigrationPhase>();

  const Result<SpaceConfig> before = new_store.load(by);
  if (!before) return before.error();
  const MigrationMark prepared = mark(seen, Step::prepared);
  if (before->migration_phase != prepared.encode()) {
    // Somebody else has gone on to new-only meanwhile.
    static_cast<void>(old_store.set_mark(*raised, mark(seen, Step::dual_new), by).ok());
    return std::optional<MigrationPhase>();
  }
  const Maybe<SpaceConfig> after = new_store.set_mark(*before, prepared, by);
  if (!after) return after.error();
  if (!*after) return std::optional<MigrationPhase>();
  const Maybe<Stamp> last = new_store.draw_stamp((*after)->version, me, by);
  if (!last) return last.error();
  if (!*last || **last > base) return std::optional<MigrationPhase>();
  return set(old_store, *raised, mark(seen, Step::dual_old), MigrationPhase::dual_old, by);
}

// --- giving the new space free ---

Result<std::vector<Migration::Impl::Obstacle>> Migration::Impl::obstacles_to_release(
    const Seen& seen, TimePoint) {
  if (!seen.new_config) return seen.new_trouble;
  if (!seen.stage) return seen.stage.error();
  const MigrationPhase phase = seen.stage->phase;
  if (phase == MigrationPhase::finished) {
    return Error{Errc::invalid,
                 "the migration is finished, and the new store is an ordinary space already"};
  }
  if (phase != MigrationPhase::old_only) {
    return Error{Errc::misconfigured,
                 "locks move to the new store, the phase is " + std::string(to_string(phase)) +
                     ": go back first, with `lockset migrate rollback --to old-only`"};
  }
  return std::vector<Obstacle>{};
}

// The old store's version is raised first: a start that is under way then comes too late.
Migration::Impl::Maybe<MigrationPhase> Migration::Impl::release(const Seen& seen, TimePoint by) {
  if (seen.new_mark.step != Step::prepared) return std::optional(MigrationPhase::old_only);
  const Maybe<SpaceConfig> of_old = raise_old(seen, by);
  if (!of_old) return of_old.error();
  if (!*of_old) return std::optional<MigrationPhase>();
  return set(new_store, *seen.new_config, MigrationMark{}, MigrationPhase::old_only, by);
}

Result<MigrationPhase> Migration::Impl::release_new(TimePoint by, bool old_store_is_gone) {
  if (!old_store_is_gone || old_store.load(half_way(by))) return go(releasing, by);
  for (int i = 0; i < most_tries; ++i) {
    const Result<SpaceConfig> config = new_store.load(by);
    if (!config) return config.error();
    const Result<MigrationMark> mark = MigrationMark::decode(config->migration_phase);
    if (!mark) return new_store.named(mark.error());
    if (mark->step == Step::none) return MigrationPhase::old_only;
    if (mark->step != Step::prepared) {
      return Error{
          Errc::misconfigured,
          "the new space is not kept for a move: holds stand there alone, or it is the old "
          "store of another move"};
    }
    const Maybe<MigrationPhase> done =
        set(new_store, *config, MigrationMark{}, MigrationPhase::old_only, by);
    if (!done) return done.error();
    if (*done) return **done;
  }
  return changes_all_the_time();
}

}  // namespace lockset
