#include <string>
#include <utility>

#include "backends/migrate/hold_tag.h"
#include "backends/migrate/view.h"
#include "core/migration_mark.h"
#include "tests/simulation/migration/steering.h"

namespace lockset::simulation {
namespace {

using namespace std::chrono_literals;
using Step = MigrationMark::Step;

// What the new store may grant while a way back is under way, in microseconds.
constexpr std::int64_t room = 500'000;

Error obstacle(std::string what) { return {Errc::unavailable, std::move(what)}; }

class ByHand final : public Steering {
 public:
  ByHand(std::unique_ptr<Backend> from, std::unique_ptr<Backend> to, Mutant mutant)
      : old_(std::move(from)), new_(std::move(to)), mutant_(mutant) {}

  Result<MigrationPhase> phase(TimePoint by) override {
    if (Status status = read(by); !status) return status.error();
    Result<migrate::Stage> stage = migrate::stage_of(of_old_, of_new_);
    // Two steered at once, one ahead and one back, in the two stores.
    const Result<MigrationMark> old_mark = MigrationMark::decode(of_old_.migration_phase);
    if (!stage && old_mark && (old_mark->step == Step::closed || old_mark->step == Step::to_old)) {
      if (Status done = set(*old_, of_old_, Step::dual_new, by); !done) return done.error();
      stage = migrate::stage_of(of_old_, of_new_);
    }
    if (!stage) return stage.error();
    return stage->phase;
  }

  Result<MigrationPhase> forward(TimePoint by) override {
    const Result<MigrationPhase> now = phase(by);
    if (!now) return now;
    switch (*now) {
      case MigrationPhase::old_only:
        return then(by, begin(by));
      case MigrationPhase::shadow:
        return then(by, set(*old_, of_old_, Step::dual_old, by));
      case MigrationPhase::dual_old:
        return then(by, switch_forward(by));
      case MigrationPhase::dual_new:
        return then(by, open_new(by));
      case MigrationPhase::new_only:
        return then(by, close_old(by));
      default:
        return now;
    }
  }

  Result<MigrationPhase> back(TimePoint by) override {
    const Result<MigrationPhase> now = phase(by);
    if (!now) return now;
    switch (*now) {
      case MigrationPhase::shadow:
        // The new store's mark stays.
        return then(by, set(*old_, of_old_, Step::none, by));
      case MigrationPhase::dual_old:
        return then(by, set(*old_, of_old_, Step::shadow, by));
      case MigrationPhase::dual_new:
        return then(by, switch_back(by));
      case MigrationPhase::new_only:
        return then(by, back_from_new(by));
      case MigrationPhase::closed:
        return then(by, set(*old_, of_old_, Step::dual_new, by));
      default:
        return now;
    }
  }

  Result<MigrationPhase> finish(TimePoint by) override {
    const Result<MigrationPhase> now = phase(by);
    if (!now || *now != MigrationPhase::closed) return now;
    return then(by, set(*new_, of_new_, Step::done, by));
  }

 private:
  Result<MigrationPhase> then(TimePoint by, const Status& done) {
    if (!done) return done.error();
    return phase(by);
  }

  // Reads both at one instant.
  Status read(TimePoint by) {
    const Result<SpaceConfig> before = new_->load_config(by);
    if (!before) return before.error();
    const Result<SpaceConfig> one = old_->load_config(by);
    if (!one) return one.error();
    const Result<SpaceConfig> after = new_->load_config(by);
    if (!after) return after.error();
    if (after->version != before->version) return obstacle("somebody else steers, too");
    of_old_ = *one;
    of_new_ = *after;
    return {};
  }

  // Sets the mark of one store if nothing has changed there since `config` was read. `config` is
  // then the configuration afterwards.
  Status set(Backend& store, SpaceConfig& config, const MigrationMark& mark, TimePoint by) {
    const std::int64_t version = config.version;
    const Result<SpaceConfig> now =
        store.change_config(SetMigrationPhase{mark.encode(), version}, by);
    if (!now) return now.error();
    config = *now;
    if (config.migration_phase != mark.encode() || config.version == version) {
      return obstacle("somebody else steers, too");
    }
    return {};
  }
  Status set(Backend& store, SpaceConfig& config, Step step, TimePoint by) {
    return set(store, config, {step, step == Step::none ? 0 : migration()}, by);
  }

  // A process that decided on a change of the old store before then comes too late.
  Status raise_old(TimePoint by) {
    const Result<MigrationMark> mark = MigrationMark::decode(of_old_.migration_phase);
    if (!mark) return mark.error();
    return set(*old_, of_old_, *mark, by);
  }

  [[nodiscard]] std::uint32_t migration() const {
    for (const SpaceConfig* const each : {&of_old_, &of_new_}) {
      const Result<MigrationMark> mark = MigrationMark::decode(each->migration_phase);
      if (mark && mark->migration != 0) return mark->migration;
    }
    return static_cast<std::uint32_t>(of_old_.version + 7);
  }

  // Whether `store` contains a live hold for which `counts` is true.
  template <class Counts>
  Status drained(Backend& store, TimePoint by, Counts&& counts) {
    const Result<Inspection> all = store.inspect({}, by);
    if (!all) return all.error();
    for (const HoldInfo& hold : all->holds) {
      if (hold.items.front().name.starts_with('@')) continue;
      const auto tag = migrate::tag_of(hold.owner.instance, migration());
      if (counts(tag)) return obstacle("holds have to end first");
    }
    return {};
  }

  Status begin(TimePoint by) {
    if (of_old_.migration_phase != 0) return obstacle("the old store was moved from");
    if (Status status = raise_old(by); !status) return status;
    const auto number = static_cast<std::uint32_t>(of_old_.version + 7);
    if (Status status = set(*new_, of_new_, {Step::prepared, number}, by); !status) return status;
    if (Status status = drained(*new_, by, [](const auto&) { return true; }); !status) {
      return status;
    }
    return set(*old_, of_old_, {Step::shadow, number}, by);
  }

  Status back_from_new(TimePoint by) {
    if (mutant_ != Mutant::no_compare) {
      if (Status status = raise_old(by); !status) return status;
    }
    return set(*new_, of_new_, Step::prepared, by);
  }

  // Draws a stamp greater than all that were granted in `store`.
  Result<Stamp> probe(Backend& store, const SpaceConfig& config, TimePoint by) {
    static const LockSet set =
        *LockSet::make({write("@migration-probe")}, LockSet::Names::reserved_too);
    const std::uint32_t one = 1;
    const Owner owner{"by-hand", "hand-1", 0, "by-hand"};
    AcquireRequest request;
    request.set = &set;
    request.permits = {&one, 1};
    request.config_version = config.version;
    request.token = Token::random();
    request.owner = &owner;
    request.lease = 1s;
    request.by = by;
    Result<AcquireOutcome> outcome = store.try_acquire(request);
    if (!outcome) return std::move(outcome).error();
    const Grant* const grant = std::get_if<Grant>(&*outcome);
    if (grant == nullptr) return obstacle("the probe was not granted");
    static_cast<void>(store.release(grant->stamp, owner.app, by).ok());
    return grant->stamp;
  }

  // Raises the stamp base of the old store, while it is being switched.
  Status raise_base(Stamp at_least, TimePoint by) {
    const std::int64_t mark = of_old_.migration_phase;
    const Result<SpaceConfig> now = old_->change_config(RaiseStampBase{at_least}, by);
    if (!now) return now.error();
    of_old_ = *now;
    if (of_old_.migration_phase != mark) return obstacle("somebody else steers, too");
    return {};
  }

  Status switch_forward(TimePoint by) {
    if (Status status = set(*old_, of_old_, Step::to_new, by); !status) return status;
    const Result<Stamp> greatest = probe(*old_, of_old_, by);
    if (!greatest) return greatest.error();
    // If nobody takes anything in dual_new, the new store never sees a stamp of the old one.
    if (mutant_ != Mutant::no_base_new && mutant_ != Mutant::no_min_stamp) {
      const Result<SpaceConfig> raised = new_->change_config(RaiseStampBase{*greatest}, by);
      if (!raised) return raised.error();
    }
    if (mutant_ != Mutant::no_base_forward) {
      if (Status status = raise_base(*greatest, by); !status) return status;
      // Others may have set the mark back and on again before.
      const Result<Inspection> held = old_->inspect({}, by);
      if (!held) return held.error();
      for (const HoldInfo& hold : held->holds) {
        const bool reserved = is_reserved_name(hold.items.front().name);
        if (!reserved && hold.stamp > of_old_.stamp_base) return obstacle("a hold is above");
      }
    }
    return set(*old_, of_old_, Step::dual_new, by);
  }

  Status switch_back(TimePoint by) {
    if (mutant_ != Mutant::no_drain_back) {
      const Status alone = drained(*new_, by, [](const auto& tag) {
        return !tag || tag->phase == MigrationPhase::new_only;
      });
      if (!alone) return alone;
    }
    if (Status status = set(*old_, of_old_, Step::to_old, by); !status) return status;
    Stamp base;
    if (mutant_ != Mutant::no_base_back) {
      const Result<Stamp> about = probe_now(by);
      if (!about) return about.error();
      base = Stamp{about->value + room};
      if (Status status = raise_base(base, by); !status) return status;
    }
    if (mutant_ != Mutant::no_fence_back) {
      const Result<SpaceConfig> of_new = new_->load_config(by);
      if (!of_new) return of_new.error();
      of_new_ = *of_new;
      const Result<MigrationMark> mark = MigrationMark::decode(of_new_.migration_phase);
      // Opened since then. If not, it is still drained, because of_old_ has the same version.
      if (!mark || mark->step != Step::prepared) return obstacle("somebody else has gone on");
      if (Status status = set(*new_, of_new_, Step::prepared, by); !status) return status;
    }
    if (mutant_ != Mutant::no_base_back) {
      const Result<Stamp> last = probe_now(by);
      if (!last) return last.error();
      if (*last > base) return obstacle("it took too long");
    }
    return set(*old_, of_old_, Step::dual_old, by);
  }

  // Draws a stamp in the new store as it is now.
  Result<Stamp> probe_now(TimePoint by) {
    const Result<SpaceConfig> of_new = new_->load_config(by);
    if (!of_new) return of_new.error();
    return probe(*new_, *of_new, by);
  }

  Status open_new(TimePoint by) {
    // Somebody was on the way back.
    const Result<MigrationMark> mark = MigrationMark::decode(of_old_.migration_phase);
    if (mark && mark->switching()) return set(*old_, of_old_, Step::dual_new, by);
    if (mutant_ != Mutant::no_drain) {
      // A hold in both stores with a stamp of the old one has a greater stamp in the new store.
      const MigrationPhase last =
          mutant_ == Mutant::old_stamps ? MigrationPhase::shadow : MigrationPhase::dual_old;
      const Status alone =
          drained(*old_, by, [last](const auto& tag) { return !tag || tag->phase <= last; });
      if (!alone) return alone;
    }
    return set(*new_, of_new_, Step::open, by);
  }

  Status close_old(TimePoint by) {
    if (Status empty = drained(*old_, by, [](const auto&) { return true; }); !empty) return empty;
    return set(*old_, of_old_, Step::closed, by);
  }

  const std::unique_ptr<Backend> old_;
  const std::unique_ptr<Backend> new_;
  const Mutant mutant_;
  SpaceConfig of_old_;
  SpaceConfig of_new_;
};

}  // namespace

std::unique_ptr<Steering> steer_by_hand(std::unique_ptr<Backend> from, std::unique_ptr<Backend> to,
                                        Mutant mutant) {
  return std::make_unique<ByHand>(std::move(from), std::move(to), mutant);
}

}  // namespace lockset::simulation
