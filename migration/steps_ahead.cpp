// The steps towards the new store.
#include <algorithm>
#include <cstring>

#include "migration/differences.h"
#include "migration/impl.h"

namespace lockset {

namespace {

// Clients that know only the old store fail once the stamps come from the new one: they should be
// gone. If they are not, most of them show up within this time.
constexpr Duration legacy_watch = std::chrono::seconds(3);

constexpr std::string_view restart_it =
    "it would be refused after the step: restart it with migrate.from and migrate.to set, or wait "
    "until it ends";
constexpr std::string_view drain_old =
    "the new store does not know it, or not by its stamp: let it end, or release or break it";

std::uint32_t fresh_number(const MigrationMark& old_mark, const MigrationMark& new_mark) {
  std::uint32_t number = 0;
  do {
    const Token token = Token::random();
    std::memcpy(&number, token.bytes.data(), sizeof number);
  } while (number == 0 || number == old_mark.migration || number == new_mark.migration);
  return number;
}

std::vector<migrate::Obstacle> configuration_differences(const SpaceConfig& old_config,
                                                         const SpaceConfig& new_config) {
  std::vector<migrate::Obstacle> found;
  constexpr std::string_view remedy = "; copy with `lockset migrate plan --copy-permits`";
  const std::vector<std::string> lines = migrate::permit_differences(old_config, new_config);
  found.reserve(lines.size() + 1);
  for (const std::string& line : lines) {
    found.push_back({{"permits differ: " + line + std::string(remedy), false}});
  }
  if (old_config.max_lease != new_config.max_lease) {
    found.push_back({{"the longest lease differs: " + format_duration(old_config.max_lease) +
                          " in the old store, " + format_duration(new_config.max_lease) +
                          " in the new one" + std::string(remedy),
                      false}});
  }
  return found;
}

}  // namespace

// --- old_only -> shadow ---

Result<std::vector<Migration::Impl::Obstacle>> Migration::Impl::obstacles_to_begin(const Seen& seen,
                                                                                   TimePoint by) {
  if (!seen.new_config) return seen.new_trouble;
  if (!seen.stage) return seen.stage.error();
  if (seen.stage->phase == MigrationPhase::shadow) return std::vector<Obstacle>{};
  if (seen.stage->phase != MigrationPhase::old_only) {
    return Error{Errc::misconfigured, "this migration has begun already: its phase is " +
                                          std::string(to_string(seen.stage->phase))};
  }
  std::vector<Obstacle> found = configuration_differences(seen.old_config, *seen.new_config);
  const Result<std::vector<Obstacle>> holds = holds_in_new_space(by);
  if (!holds) return holds.error();
  found.insert(found.end(), holds->begin(), holds->end());
  return found;
}

// Holds of any owner.
Result<std::vector<Migration::Impl::Obstacle>> Migration::Impl::holds_in_new_space(TimePoint by) {
  const Result<Inspection> in_new = new_store.inspect(by);
  if (!in_new) return in_new.error();
  std::vector<Obstacle> found = migrate::holds_in_the_way(
      *in_new, "the new store",
      "locks are moved to a space that nobody uses: wait until it ends, or choose another space",
      [](const Owner&) { return true; });
  if (auto lost = migrate::quarantine_in_the_way(*in_new, "the new store")) found.push_back(*lost);
  return found;
}

Migration::Impl::Maybe<MigrationPhase> Migration::Impl::begin(const Seen& seen, TimePoint by) {
  if (seen.old_mark.step == Step::shadow) return std::optional(MigrationPhase::shadow);
  // The hold for steering is in the old store, and must not appear in the new one.
  const Result<Inspection> own =
      new_store.inspect(by, {InspectQuery::Match::name, std::string(migrate::steering_prefix)});
  if (!own) return own.error();
  for (const HoldInfo& hold : own->holds) {
    if (hold.owner.instance != me.instance) continue;
    return Error{Errc::unsupported,
                 "migrate.from and migrate.to are two addresses of the same lock space"};
  }
  const Maybe<SpaceConfig> of_old = raise_old(seen, by);
  if (!of_old) return of_old.error();
  if (!*of_old) return std::optional<MigrationPhase>();
  // Each start has its own number, even if the space is prepared already. So nothing that another
  // start has begun, or taken back, is mistaken for this one's.
  const MigrationMark prepared{Step::prepared, fresh_number(seen.old_mark, seen.new_mark)};
  const Maybe<SpaceConfig> done = new_store.set_mark(*seen.new_config, prepared, by);
  if (!done) return done.error();
  if (!*done) return std::optional<MigrationPhase>();
  // From now on nobody can take anything there; somebody may have done so since the last look.
  const Result<std::vector<Obstacle>> in_use = holds_in_new_space(by);
  if (!in_use) return in_use.error();
  if (!in_use->empty()) return std::optional<MigrationPhase>();
  return set(old_store, **of_old, {Step::shadow, prepared.migration}, MigrationPhase::shadow, by);
}

// --- one phase on ---

Result<std::vector<Migration::Impl::Obstacle>> Migration::Impl::obstacles_ahead(const Seen& seen,
                                                                                TimePoint by) {
  if (!seen.new_config) return seen.new_trouble;
  if (!seen.stage) return seen.stage.error();
  std::vector<Obstacle> found;
  if (seen.stage->switching) return found;
  switch (seen.stage->phase) {
    case MigrationPhase::old_only:
      return Error{Errc::misconfigured,
                   "no migration has begun: begin it with `lockset migrate start`"};
    case MigrationPhase::shadow:
      return configuration_differences(seen.old_config, *seen.new_config);
    case MigrationPhase::dual_old: {
      const Result<Inspection> in_old = old_store.inspect(by);
      if (!in_old) return in_old.error();
      const auto stands_alone = [&](const Owner& owner) {
        return migrate::stands_alone(owner, seen.stage->migration);
      };
      found = migrate::holds_in_the_way(*in_old, "the old store by a client of it alone",
                                        restart_it, stands_alone);
      const std::vector<Obstacle> waiters = migrate::waiters_in_the_way(
          *in_old, "the old store by a client of it alone", restart_it, stands_alone);
      found.insert(found.end(), waiters.begin(), waiters.end());
      return settled(std::move(found), legacy_gone, std::to_string(seen.old_mark.encode()),
                     legacy_watch, "no client of the old store alone is seen");
    }
    case MigrationPhase::dual_new: {
      const Result<Inspection> in_old = old_store.inspect(by);
      if (!in_old) return in_old.error();
      found = migrate::holds_in_the_way(
          *in_old, "the old store since before dual-new", drain_old, [&](const Owner& owner) {
            return migrate::is_older_than_dual_new(owner, seen.stage->migration);
          });
      if (auto lost = migrate::quarantine_in_the_way(*in_old, "the old store")) {
        found.push_back(*lost);
      }
      // The stamp base grows with each entry into this phase from dual-old: earlier looks no longer
      // count then. (A version would grow with each restart of a program, too.)
      return settled(std::move(found), old_drained,
                     std::to_string(seen.old_mark.encode()) + "/" +
                         std::to_string(seen.old_config.stamp_base.value),
                     between_looks, "no hold from before dual-new is seen");
    }
    case MigrationPhase::new_only: {
      const Result<Inspection> in_old = old_store.inspect(by);
      if (!in_old) return in_old.error();
      found = migrate::holds_in_the_way(*in_old, "the old store",
                                        "it ends soon if its program runs: wait, or break it",
                                        [](const Owner&) { return true; });
      if (auto lost = migrate::quarantine_in_the_way(*in_old, "the old store")) {
        found.push_back(*lost);
      }
      return found;
    }
    case MigrationPhase::closed:
      return Error{Errc::misconfigured,
                   "the old store is closed already: what is left is `lockset migrate finish`"};
    case MigrationPhase::finished:
      return Error{Errc::misconfigured, "the migration is finished"};
  }
  return found;
}

Migration::Impl::Maybe<MigrationPhase> Migration::Impl::step_ahead(const Seen& seen, TimePoint by) {
  switch (seen.old_mark.step) {
    case Step::shadow:
      return set(old_store, seen.old_config, mark(seen, Step::dual_old), MigrationPhase::dual_old,
                 by);
    case Step::dual_old:
    case Step::to_new:
      return switch_to_new(seen, by);
    case Step::to_old:
      // A way back that was not finished: nothing of it has taken effect.
      return set(old_store, seen.old_config, mark(seen, Step::dual_new), MigrationPhase::dual_new,
                 by);
    case Step::dual_new:
      if (seen.new_mark.step == Step::prepared) return open_new(seen, by);
      return set(old_store, seen.old_config, mark(seen, Step::closed), MigrationPhase::closed, by);
    default:
      return Error{Errc::internal, "a step ahead from a phase that has none"};
  }
}

// Raises the old store's stamp base above the last grant of dual-old, while nothing is granted.
// Others may set the mark back and on again between drawing the stamp and raising the base. So this
// looks whether a hold has a stamp above the base after all; such a hold stays visible until the
// change to dual_new.
Migration::Impl::Maybe<MigrationPhase> Migration::Impl::switch_to_new(const Seen& seen,
                                                                      TimePoint by) {
  SpaceConfig now = seen.old_config;
  const MigrationMark switching = mark(seen, Step::to_new);
  if (seen.old_mark.step != Step::to_new) {
    const Maybe<SpaceConfig> begun = old_store.set_mark(now, switching, by);
    if (!begun) return begun.error();
    if (!*begun) return std::optional<MigrationPhase>();
    now = **begun;
  }
  const Maybe<Stamp> last = old_store.draw_stamp(now.version, me, by);
  if (!last) return last.error();
  if (!*last) return std::optional<MigrationPhase>();
  const Result<SpaceConfig> raised = old_store.raise_stamps(**last, by);
  if (!raised) return raised.error();
  // Clients set the mark back if the switch takes too long.
  if (raised->migration_phase != switching.encode()) return std::optional<MigrationPhase>();
  const Result<Inspection> held = old_store.inspect(by);
  if (!held) return held.error();
  const bool above = std::ranges::any_of(held->holds, [&](const HoldInfo& hold) {
    return !migrate::is_bookkeeping(hold.items) && hold.stamp > raised->stamp_base;
  });
  if (above) return std::optional<MigrationPhase>();
  // What was observed so far has to count as changed (semantics 27): it names stamps of the old
  // store, and some clients still wrote there alone. Nothing is granted or observed there since
  // `raised` was read, if the change succeeds; so this stamp is above all of them.
  const Maybe<Stamp> top = old_store.draw_stamp(raised->version, me, by);
  if (!top) return top.error();
  if (!*top) return std::optional<MigrationPhase>();
  if (const Result<SpaceConfig> new_raised = new_store.raise_stamps(**top, by); !new_raised) {
    return new_raised.error();
  }
  return set(old_store, *raised, mark(seen, Step::dual_new), MigrationPhase::dual_new, by);
}

// From now on only the new store gives stamps, and they have to be above all of the old store's.
// They are so already only if something was granted in dual-new. Nobody can go back to dual-old
// unnoticed between drawing the stamp and opening the new store: the old store's version is
// unchanged when the new store's is known, and the way back raises the new store's version, too.
Migration::Impl::Maybe<MigrationPhase> Migration::Impl::open_new(const Seen& seen, TimePoint by) {
  const Maybe<Stamp> last = old_store.draw_stamp(seen.old_config.version, me, by);
  if (!last) return last.error();
  if (!*last) return std::optional<MigrationPhase>();
  const Result<SpaceConfig> raised = new_store.raise_stamps(**last, by);
  if (!raised) return raised.error();
  if (raised->migration_phase != seen.new_config->migration_phase) {
    return std::optional<MigrationPhase>();
  }
  const Result<SpaceConfig> again = old_store.load(by);
  if (!again) return again.error();
  if (again->version != seen.old_config.version) return std::optional<MigrationPhase>();
  return set(new_store, *raised, mark(seen, Step::open), MigrationPhase::new_only, by);
}

// --- closed -> finished ---

Result<std::vector<Migration::Impl::Obstacle>> Migration::Impl::obstacles_to_end(const Seen& seen,
                                                                                 TimePoint by) {
  if (!seen.new_config) return seen.new_trouble;
  if (!seen.stage) return seen.stage.error();
  if (seen.stage->phase == MigrationPhase::finished) return std::vector<Obstacle>{};
  if (seen.stage->phase != MigrationPhase::closed) {
    return Error{Errc::misconfigured,
                 "the migration is in phase " + std::string(to_string(seen.stage->phase)) +
                     ": go on to closed first, with `lockset migrate advance`"};
  }
  const Result<Inspection> in_old = old_store.inspect(by);
  if (!in_old) return in_old.error();
  return migrate::holds_in_the_way(*in_old, "the old store", "break it, or wait until it ends",
                                   [](const Owner&) { return true; });
}

Migration::Impl::Maybe<MigrationPhase> Migration::Impl::end(const Seen& seen, TimePoint by) {
  if (seen.new_mark.step == Step::done) return std::optional(MigrationPhase::finished);
  return set(new_store, *seen.new_config, mark(seen, Step::done), MigrationPhase::finished, by);
}

}  // namespace lockset
