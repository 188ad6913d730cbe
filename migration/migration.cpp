// lockset::Migration: how any step is taken.
#include "lockset/migration.h"

#include <algorithm>
#include <utility>

#include "core/identity.h"
#include "core/machine.h"
#include "migration/impl.h"

namespace lockset {

using migrate::Obstacle;
using migrate::OpenStore;
using migrate::ReservedHold;

namespace {

// How often the stores are read again because something changed in between.
constexpr int readings = 3;
// How often to look again while only time is missing.
constexpr Duration look_again = std::chrono::milliseconds(500);
// The lease of the hold that prevents others from steering; it remains if the process is killed.
constexpr Duration steering_lease = std::chrono::seconds(10);

Error no_pair(std::string_view which) {
  return {Errc::unsupported, std::string(which) +
                                 " can be seen by one process only: programs can't move to or "
                                 "from it while they run"};
}

OpenStore opened(std::unique_ptr<Backend> backend) {
  // Called only once; but a std::function has to be copyable.
  auto box = std::make_shared<std::unique_ptr<Backend>>(std::move(backend));
  return [box](TimePoint) -> Result<std::unique_ptr<Backend>> { return std::move(*box); };
}

OpenStore opener(std::string_view address, std::string_view which) {
  return [address = std::string(address),
          which = std::string(which)](TimePoint by) -> Result<std::unique_ptr<Backend>> {
    Result<std::unique_ptr<Backend>> store = open_backend(address, by);
    if (store && !(*store)->traits().shared_between_processes) return no_pair(which);
    return store;
  };
}

Error as_error(const std::vector<Obstacle>& obstacles) {
  // An obstacle that somebody has to remove says more than a temporary one.
  const auto first =
      std::ranges::find_if(obstacles, [](const Obstacle& each) { return !each.shown.passes; });
  if (first != obstacles.end()) return {Errc::misconfigured, first->shown.text};
  return {Errc::unavailable, obstacles.front().shown.text};
}

}  // namespace

const Migration::Impl::Direction Migration::Impl::beginning{&Impl::obstacles_to_begin,
                                                            &Impl::begin};
const Migration::Impl::Direction Migration::Impl::ahead{&Impl::obstacles_ahead, &Impl::step_ahead};
const Migration::Impl::Direction Migration::Impl::back{&Impl::obstacles_back, &Impl::step_back};
const Migration::Impl::Direction Migration::Impl::ending{&Impl::obstacles_to_end, &Impl::end};
const Migration::Impl::Direction Migration::Impl::releasing{&Impl::obstacles_to_release,
                                                            &Impl::release};

Migration::Impl::Impl(OpenStore from, OpenStore to, const Clock& with_clock)
    : old_store(std::move(from), "the old store"),
      new_store(std::move(to), "the new store"),
      clock(with_clock),
      me{default_app(), Token::random().hex() + "-" LOCKSET_VERSION, 0, default_label()} {}

Result<Migration::Impl::Seen> Migration::Impl::look(TimePoint by) {
  Seen seen;
  for (int i = 0; i < readings; ++i) {
    const Result<SpaceConfig> before = new_store.load(half_way(by));
    Result<SpaceConfig> of_old = old_store.load(by);
    if (!of_old) return std::move(of_old).error();
    const Result<SpaceConfig> after = before ? new_store.load(by) : before;
    if (after && after->version != before->version) continue;

    seen = {};
    seen.old_config = *std::move(of_old);
    const Result<MigrationMark> old_mark = MigrationMark::decode(seen.old_config.migration_phase);
    if (!old_mark) return old_store.named(old_mark.error());
    seen.old_mark = *old_mark;
    if (after) {
      seen.new_config = *after;
      const Result<MigrationMark> new_mark = MigrationMark::decode(after->migration_phase);
      if (!new_mark) return new_store.named(new_mark.error());
      seen.new_mark = *new_mark;
    } else {
      seen.new_trouble = after.error();
    }
    seen.stage = migrate::stage_of(seen.old_config, seen.new_config);
    return seen;
  }
  return Error{Errc::unavailable, new_store.called() + ": its configuration changes all the time"};
}

// A hanging new store must not use up the time for the old one.
TimePoint Migration::Impl::half_way(TimePoint by) const {
  const TimePoint now = clock.now();
  return by <= now ? by : now + (by - now) / 2;
}

MigrationMark Migration::Impl::mark(const Seen& seen, Step step) {
  return {step, seen.old_mark.migration};
}

Migration::Impl::Maybe<MigrationPhase> Migration::Impl::set(migrate::SteeredStore& store,
                                                            const SpaceConfig& seen,
                                                            const MigrationMark& mark,
                                                            MigrationPhase phase, TimePoint by) {
  const Maybe<SpaceConfig> done = store.set_mark(seen, mark, by);
  if (!done) return done.error();
  if (!*done) return std::optional<MigrationPhase>();
  return std::optional(phase);
}

Migration::Impl::Maybe<SpaceConfig> Migration::Impl::raise_old(const Seen& seen, TimePoint by) {
  return old_store.set_mark(seen.old_config, seen.old_mark, by);
}

std::optional<MigrationMark> Migration::Impl::mended_old_mark(const Seen& seen) const {
  if (!seen.new_config || seen.old_mark.migration != seen.new_mark.migration) return {};
  // One process closed the old store while another went back from new-only: keep only the second
  // step.
  if (seen.old_mark.step == Step::closed && seen.new_mark.step == Step::prepared) {
    return mark(seen, Step::dual_new);
  }
  // One process began the way back from dual-new while another opened the new store.
  if (seen.old_mark.step == Step::to_old && seen.new_mark.step == Step::open) {
    return mark(seen, Step::dual_new);
  }
  // One process finished while another took the closing back: finishing can't be taken back.
  if (seen.old_mark.step == Step::dual_new && seen.new_mark.step == Step::done) {
    return mark(seen, Step::closed);
  }
  return {};
}

Result<ReservedHold> Migration::Impl::steer(TimePoint by) {
  const std::string name(migrate::steering_prefix);
  for (int i = 0; i < 2; ++i) {
    std::optional<Busy> other;
    Maybe<ReservedHold> hold = ReservedHold::take(old_store, name, me, steering_lease, by, other);
    if (!hold) return std::move(hold).error();
    if (*hold) {
      last_steering = (*hold)->stamp();
      return std::move(**hold);
    }
    if (other->holder != last_steering) {
      return Error{Errc::unavailable, "somebody else moves this migration on at this moment: " +
                                          clean_label(other->holder_label) +
                                          "; try again when that has ended"};
    }
    const Result<Backend*> store = old_store.get(by);
    if (!store) return store.error();
    static_cast<void>((*store)->release(last_steering, me.app, by).ok());
  }
  return Error{Errc::unavailable,
               "the hold that keeps others from moving this migration on can't "
               "be had; try again in a few seconds"};
}

std::vector<Obstacle> Migration::Impl::settled(std::vector<Obstacle> lines,
                                               migrate::Observation& observation,
                                               const std::string& circumstances, Duration needed,
                                               std::string_view watched) {
  if (!lines.empty()) {
    observation.spoilt();
    return lines;
  }
  const TimePoint now = clock.now();
  if (observation.clean(circumstances, now, needed)) return lines;
  const TimePoint due = observation.due();
  lines.push_back({{std::string(watched) + "; it has to stay so for another " +
                        format_duration(std::chrono::ceil<std::chrono::seconds>(due - now)),
                    true, due - now},
                   due});
  return lines;
}

Result<std::vector<MigrationObstacle>> Migration::Impl::shown_obstacles(const Direction& direction,
                                                                        TimePoint by) {
  const Result<Seen> seen = look(by);
  if (!seen) return seen.error();
  std::vector<MigrationObstacle> shown;
  if (mended_old_mark(*seen)) return shown;
  const Result<std::vector<Obstacle>> found = (this->*direction.obstacles)(*seen, by);
  if (!found) return found.error();
  for (const Obstacle& each : *found) shown.push_back(each.shown);
  return shown;
}

Result<MigrationPhase> Migration::Impl::go(const Direction& direction, TimePoint by) {
  for (int tries = 0; tries < most_tries;) {
    const Result<Seen> seen = look(by);
    if (!seen) return seen.error();
    if (const std::optional<MigrationMark> mended = mended_old_mark(*seen)) {
      ++tries;
      const Maybe<SpaceConfig> done = old_store.set_mark(seen->old_config, *mended, by);
      if (!done) return done.error();
      continue;
    }
    const Result<std::vector<Obstacle>> found = (this->*direction.obstacles)(*seen, by);
    if (!found) return found.error();
    if (!found->empty()) {
      const bool time_alone = std::ranges::all_of(
          *found, [&](const Obstacle& each) { return each.due && *each.due <= by; });
      if (!time_alone) return as_error(*found);
      const TimePoint due = std::ranges::max_element(*found, {}, &Obstacle::due)->due.value();
      sleep_until(std::min(due, clock.now() + look_again), {});
      continue;
    }
    const Result<ReservedHold> steering = steer(by);
    if (!steering) return steering.error();
    ++tries;
    const Maybe<MigrationPhase> done = (this->*direction.step)(*seen, by);
    if (!done) return done.error();
    if (*done) return **done;
  }
  return changes_all_the_time();
}

Error Migration::Impl::changes_all_the_time() {
  return {Errc::unavailable,
          "the configuration of a store changes all the time: try again; what was begun is safe, "
          "and taken up again"};
}

// --- Migration ---

Migration::Migration(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
Migration::Migration(std::unique_ptr<Backend> from, std::unique_ptr<Backend> to, const Clock& clock)
    : impl_(std::make_unique<Impl>(opened(std::move(from)), opened(std::move(to)), clock)) {}
Migration::Migration(Migration&&) noexcept = default;
Migration& Migration::operator=(Migration&&) noexcept = default;
Migration::~Migration() = default;

Result<Migration> Migration::open(std::string_view from, std::string_view to, TimePoint by) {
  for (const std::string_view address : {from, to}) {
    const Result<Url> url = Url::parse(address);
    if (!url) return url.error();
    if (url->scheme == "migrate") {
      return Error{Errc::invalid, "the address of a store is needed, and " + url->redacted() +
                                      " is that of a migration"};
    }
  }
  if (from == to) {
    return Error{Errc::unsupported, "the old and the new store are the same: " + redact_url(from)};
  }
  auto impl = std::make_unique<Impl>(opener(from, "the old store"), opener(to, "the new store"),
                                     real_clock());
  // A store that does not answer, or is not fit, is tried again when it is needed.
  const auto hopeless = [](const Result<Backend*>& store) {
    return !store &&
           (store.error().code == Errc::invalid || store.error().code == Errc::unsupported);
  };
  const TimePoint now = BootClock::now();
  const Result<Backend*> old_store = impl->old_store.get(now + (by - now) / 2);
  if (hopeless(old_store)) return impl->old_store.named(old_store.error());
  const Result<Backend*> new_store = impl->new_store.get(by);
  if (hopeless(new_store)) return impl->new_store.named(new_store.error());
  if (!old_store && !new_store) return impl->old_store.named(old_store.error());
  return Migration(std::move(impl));
}

Result<std::vector<Finding>> Migration::plan(TimePoint by) { return impl_->plan(by); }
Result<std::size_t> Migration::copy_permits(TimePoint by) { return impl_->copy_permits(by); }
Result<MigrationStatus> Migration::status(TimePoint by) { return impl_->status(by); }
Result<std::vector<MigrationObstacle>> Migration::obstacles_ahead(TimePoint by) {
  return impl_->shown_obstacles(Impl::ahead, by);
}
Result<std::vector<MigrationObstacle>> Migration::obstacles_back(TimePoint by) {
  return impl_->shown_obstacles(Impl::back, by);
}
Result<MigrationPhase> Migration::start(TimePoint by) { return impl_->go(Impl::beginning, by); }
Result<MigrationPhase> Migration::advance(TimePoint by) { return impl_->go(Impl::ahead, by); }
Result<MigrationPhase> Migration::roll_back(TimePoint by) { return impl_->go(Impl::back, by); }
Result<MigrationPhase> Migration::finish(TimePoint by) { return impl_->go(Impl::ending, by); }
Result<MigrationPhase> Migration::release_new(TimePoint by, bool old_store_is_gone) {
  return impl_->release_new(by, old_store_is_gone);
}

}  // namespace lockset
