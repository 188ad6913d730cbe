// What the stores say about the migration, and everything else that an acquire depends on.
#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "backends/migrate/backend.h"
#include "core/migration_mark.h"

namespace lockset::migrate {
namespace {

// How often both stores are read again if their answers do not fit together: each step of a
// migration changes one of them, and may come between the two readings.
constexpr int readings = 3;
constexpr Duration longest_switching = std::chrono::seconds(5);

// Whether the mark lets in clients of the old store alone, or did a moment ago: then the new store
// can't be open.
bool old_store_counts(const SpaceConfig& config) {
  using Step = MigrationMark::Step;
  const Result<MigrationMark> mark = MigrationMark::decode(config.migration_phase);
  if (!mark) return false;
  return may_use_alone(config.migration_phase).ok() || mark->step == Step::to_new;
}

// For the first of two stores: it must not use up the time of the other one.
TimePoint half_way(TimePoint by) {
  const TimePoint now = BootClock::now();
  return by <= now ? by : now + (by - now) / 2;
}

}  // namespace

MigrateBackend::Now MigrateBackend::now() const {
  const std::lock_guard lock(mutex_);
  return now_;
}

Result<MigrateBackend::Now> MigrateBackend::view_to_ask_by(TimePoint by) {
  Now view = now();
  const bool look_again = old_is_silent_.exchange(false);
  if (!view || view->stage.switching || look_again) {
    if (view && view->stage.switching) set_back_if_stuck(*view, by);
    Result<Now> read = refresh(by);
    if (!read) return std::move(read).error();
    view = *std::move(read);
  }
  if (view->stage.switching) return being_switched();
  return view;
}

MigrateBackend::Now MigrateBackend::learn(std::optional<SpaceConfig> of_old,
                                          std::optional<SpaceConfig> of_new) {
  const std::lock_guard lock(mutex_);
  if (of_old) old_config_ = std::move(of_old);
  if (of_new) new_config_ = std::move(of_new);
  if (now_ && now_->old_config == old_config_ && now_->new_config == new_config_) return now_;
  const Result<Stage> stage = stage_of(old_config_, new_config_);
  if (!stage) return now_ = nullptr;

  auto view = std::make_shared<View>();
  view->stage = *stage;
  view->old_config = old_config_;
  view->new_config = new_config_;
  view->together = put_together(stage->phase, old_config_, new_config_);
  // Two different views never have the same version, even if a store has gone back.
  view->together.version = last_version_ = std::max(view->together.version, last_version_ + 1);
  set_epochs(*view);
  if (!stage->switching) {
    switching_since_.reset();
    not_set_back_.clear();
  }
  return now_ = std::move(view);
}

// An epoch is a stamp, and each store has its own for the same instance. The view shows the one of
// the store which gives the stamps. But an instance must always see its own epoch as its own, and a
// newer instance's as newer, in whichever phase either was opened.
void MigrateBackend::set_epochs(View& view) const {
  const auto epochs_in = [](const std::optional<SpaceConfig>& config, bool counts) {
    return config && counts ? config->epochs : decltype(SpaceConfig::epochs)();
  };
  const MigrationPhase phase = view.stage.phase;
  const auto of_old = epochs_in(view.old_config, in_old(phase));
  const auto of_new = epochs_in(view.new_config, in_new(phase));
  const bool new_gives_stamps = phase >= MigrationPhase::dual_new;
  view.together.epochs = new_gives_stamps ? of_new : of_old;
  view.together.epochs.merge(std::map(new_gives_stamps ? of_old : of_new));
  for (auto& [app, epoch] : view.together.epochs) {
    const std::optional<Parts> own = parts_.application(app);
    if (!own) continue;
    const auto is = [&app = app](const auto& epochs, Stamp part, auto compare) {
      const auto at = epochs.find(app);
      return at != epochs.end() && part && compare(at->second, part.value);
    };
    if (is(of_old, own->in_old, std::greater<>()) || is(of_new, own->in_new, std::greater<>())) {
      epoch = std::max(epoch, own->stamp().value + 1);
    } else if (is(of_old, own->in_old, std::equal_to<>()) ||
               is(of_new, own->in_new, std::equal_to<>())) {
      epoch = own->stamp().value;
    }
  }
}

Result<MigrateBackend::Now> MigrateBackend::read_both(TimePoint by) {
  Error why{Errc::unavailable, "no time was left to ask the stores"};
  for (int i = 0; i < readings; ++i) {
    if (BootClock::now() >= by) return why;
    const auto config_of = [](Side& from, TimePoint until) -> Result<SpaceConfig> {
      const Result<Backend*> store = from.get(until);
      return store ? (*store)->load_config(until) : store.error();
    };
    const Result<SpaceConfig> of_new = config_of(new_, half_way(by));
    // A store may be away, or not set up yet; but an invalid address stays invalid.
    if (!of_new && of_new.error().code == Errc::invalid) return of_new.error();
    std::optional<SpaceConfig> new_config;
    if (of_new) new_config = *of_new;
    std::optional<SpaceConfig> old_config;
    if (!new_config || !stage_of({}, new_config)) {
      const Result<SpaceConfig> of_old = config_of(old_, by);
      if (!of_old) return of_old.error();
      old_config = *of_old;
    } else if (stage_of({}, new_config)->phase == MigrationPhase::new_only) {
      // The old store is not needed any more, and may be gone. But if it says that its holds count,
      // one of the two was restored from a backup, and holds may be taken in both.
      const Result<SpaceConfig> of_old = config_of(old_, half_way(by));
      const bool contradicts = of_old && old_store_counts(*of_old);
      if (const Result<Stage> both =
              stage_of(of_old ? std::optional(*of_old) : std::nullopt, new_config);
          contradicts && !both) {
        why = both.error();
        continue;
      }
    }
    Result<Stage> stage = stage_of(old_config, new_config);
    if (stage) {
      {
        // What is known of a store that was not read now may contradict.
        const std::lock_guard lock(mutex_);
        if (!old_config) old_config_.reset();
        if (!new_config) new_config_.reset();
      }
      if (Now view = learn(std::move(old_config), std::move(new_config))) return view;
      continue;
    }
    why = stage.error().code == Errc::unavailable && !of_new ? of_new.error() : stage.error();
    if (why.code != Errc::misconfigured) return why;
  }
  return why;
}

Result<MigrateBackend::Now> MigrateBackend::refresh(TimePoint by) {
  const Now before = now();
  if (!before) return read_both(by);
  const auto needed = [](const View& view, Which which) {
    return which == Which::old_store ? in_old(view.stage.phase) : in_new(view.stage.phase);
  };
  // A needed store that does not answer may be gone for good because the phase has moved on, or
  // back: the other store knows.
  std::optional<Error> silent[2];
  Now view = before;
  for (const Which which : {Which::new_store, Which::old_store}) {
    if (!view) return read_both(by);
    if (!needed(*before, which) || !needed(*view, which)) continue;
    const bool first_of_two = which == Which::new_store && in_both(before->stage.phase);
    const TimePoint until = first_of_two ? half_way(by) : by;
    const Result<Backend*> store = side(which).get(until);
    Result<SpaceConfig> config = store ? (*store)->load_config(until) : store.error();
    if (!config) {
      silent[static_cast<std::size_t>(which)] = std::move(config).error();
      continue;
    }
    view =
        which == Which::old_store ? learn(*std::move(config), {}) : learn({}, *std::move(config));
  }
  if (!view) return read_both(by);
  for (const Which which : {Which::new_store, Which::old_store}) {
    std::optional<Error>& error = silent[static_cast<std::size_t>(which)];
    if (error && needed(*view, which)) return *std::move(error);
  }
  return view;
}

Result<SpaceConfig> MigrateBackend::load_config(TimePoint by) {
  const Result<Now> view = refresh(by);
  if (!view) return view.error();
  return (*view)->together;
}

Result<SpaceConfig> MigrateBackend::change_config(const ConfigChange& change, TimePoint by) {
  if (std::holds_alternative<SetMigrationPhase>(change)) {
    return Error{Errc::unsupported, "the phase of a migration is changed by `lockset migrate`"};
  }
  Result<Now> view = refresh(by);
  if (!view) return view.error();
  bool changed = false;
  for (const Which which : {Which::old_store, Which::new_store}) {
    // The present view: a change in the old store may show that another phase began meanwhile.
    if (!*view) view = refresh(by);
    if (!view) break;
    const MigrationPhase phase = (*view)->stage.phase;
    // The shadow has to use the same permits; but nothing depends on it.
    const bool shadow = which == Which::new_store && phase == MigrationPhase::shadow;
    const bool needed = which == Which::old_store ? in_old(phase) : in_new(phase);
    if (!needed && !shadow) continue;
    const Result<Backend*> store = side(which).get(by);
    Result<SpaceConfig> config = store ? (*store)->change_config(change, by) : store.error();
    if (!config && shadow) continue;
    if (!config && changed) {
      return Error{Errc::indeterminate,
                   "the change was made in one of the two stores, and may not "
                   "have been made in the other; make it again: " +
                       config.error().message};
    }
    if (!config) return std::move(config).error();
    view =
        which == Which::old_store ? learn(*std::move(config), {}) : learn({}, *std::move(config));
    changed = true;
  }
  if (!view) {
    return Error{Errc::indeterminate,
                 "the change was made in the old store, and may have to be made in the new one as "
                 "well; make it again: " +
                     view.error().message};
  }
  if (const Now now_known = now()) return now_known->together;
  return load_config(by);
}

void MigrateBackend::set_back_if_stuck(const View& view, TimePoint by) {
  const SpaceConfig& config = *view.old_config;
  {
    const std::lock_guard lock(mutex_);
    const TimePoint now = BootClock::now();
    if (!switching_since_ || switching_since_->first != config.version) {
      switching_since_.emplace(config.version, now);
    }
    if (now - switching_since_->second < longest_switching) return;
  }
  Result<MigrationMark> mark = MigrationMark::decode(config.migration_phase);
  if (!mark || !mark->switching()) return;
  using Step = MigrationMark::Step;
  mark->step = mark->step == Step::to_new ? Step::dual_old : Step::dual_new;
  const Result<Backend*> store = old_.get(by);
  if (!store) return;
  const Result<SpaceConfig> done =
      (*store)->change_config(SetMigrationPhase{mark->encode(), config.version}, by);
  // The next reading shows any other outcome.
  if (done || done.error().code != Errc::misconfigured) return;
  // Programs usually have no right to do this. Someone may grant it, so it asks again after a
  // while.
  const std::lock_guard lock(mutex_);
  switching_since_.emplace(config.version, BootClock::now());
  not_set_back_ = done.error().message;
}

Error MigrateBackend::being_switched() const {
  std::string text = "the migration of the lock space is being switched to another phase";
  const std::lock_guard lock(mutex_);
  if (!not_set_back_.empty()) {
    text +=
        ", and whoever began it has not ended it: an operator has to look with `lockset migrate "
        "status`, and to run `lockset migrate advance` or `lockset migrate rollback`; this program "
        "can't set it back: " +
        not_set_back_;
  }
  return {Errc::unavailable, text};
}

}  // namespace lockset::migrate
