#include "tests/simulation/migration/stores.h"

#include <algorithm>
#include <string>

#include "core/migration_mark.h"

namespace lockset::simulation {

using namespace std::chrono_literals;

namespace {

// The names of MigrationMark::Step.
constexpr const char* names[] = {"none",   "shadow", "dual-old", "to-new", "dual-new", "to-old",
                                 "closed", "",       "prepared", "open",   "done"};
constexpr std::uint32_t old_actor = 100;
constexpr std::uint32_t new_actor = 101;

// Whether the hold is known by the stamp of its record in the old (new) store.
bool decides_in_old(const std::optional<migrate::HoldTag>& tag) {
  return !tag || tag->phase <= MigrationPhase::dual_old;
}
bool decides_in_the_new(const std::optional<migrate::HoldTag>& tag) {
  return !tag || tag->phase >= MigrationPhase::dual_new;
}
// What the steering people take is handed to no caller.
bool decides_in_old(const Fate& fate) { return !fate.reserved && decides_in_old(fate.tag); }
bool decides_in_the_new(const Fate& fate) { return !fate.reserved && decides_in_the_new(fate.tag); }

}  // namespace

Stores::Stores(World& world, const Setting& setting)
    : old_store(world, setting.old_store, old_actor),
      new_store(world, setting.new_store, new_actor),
      world_(world),
      setting_(setting) {
  old_store.config_changed = [this](const SpaceConfig& config) {
    note("old-store.", &Marks::of_old, config);
  };
  new_store.config_changed = [this](const SpaceConfig& config) {
    note("new-store.", &Marks::of_new, config);
  };
  new_store.set_calendar(setting.new_wall_ahead);
}

void Stores::note(const char* store, std::int64_t Marks::*mark, const SpaceConfig& config) {
  Marks now = marks();
  if (now.*mark == config.migration_phase) return;
  now.*mark = config.migration_phase;
  marks_.emplace_back(world_.now(), now);
  ++world_.counts["steps of a migration"];
  // For readers of the run's story.
  const Result<MigrationMark> read = MigrationMark::decode(config.migration_phase);
  const std::string kind = store + std::string(names[static_cast<std::size_t>(read->step)]);
  world_.record(history::FaultBegin{kind});
  world_.record(history::FaultEnd{kind});
}

std::vector<Stores::Marks> Stores::marks_since(TimePoint from) const {
  std::vector<Marks> found;
  for (std::size_t i = 0; i < marks_.size(); ++i) {
    if (i + 1 == marks_.size() || marks_[i + 1].first >= from) found.push_back(marks_[i].second);
  }
  return found;
}

bool Stores::decides_in_new(Stamp stamp) const {
  const Fate* const here = new_store.fate(stamp);
  return here != nullptr && decides_in_the_new(*here);
}

const Fate* Stores::fate(Stamp stamp) const {
  if (decides_in_new(stamp)) return new_store.fate(stamp);
  const Fate* const here = old_store.fate(stamp);
  return here != nullptr && decides_in_old(*here) ? here : nullptr;
}

std::vector<Stamp> Stores::others(Stamp stamp, const Fate& fate) const {
  if (!fate.tag) return {};
  if (fate.tag->phase == MigrationPhase::dual_new) return {fate.tag->in_old};
  if (fate.tag->phase != MigrationPhase::dual_old) return {};
  std::vector<Stamp> found;
  for (const auto& [each, its] : new_store.fates()) {
    const bool of_this = its.tag && its.tag->phase == MigrationPhase::dual_old;
    if (of_this && its.tag->in_old == stamp) found.push_back(each);
  }
  return found;
}

bool Stores::live(Stamp stamp) {
  const Fate* const own = fate(stamp);
  if (own == nullptr) return false;
  const bool in_new = decides_in_new(stamp);
  if (!(in_new ? new_store : old_store).live(stamp)) return false;
  const bool in_both = own->tag && (own->tag->phase == MigrationPhase::dual_old ||
                                    own->tag->phase == MigrationPhase::dual_new);
  if (!in_both) return true;
  const std::vector<Stamp> parts = others(stamp, *own);
  return std::any_of(parts.begin(), parts.end(),
                     [&](Stamp each) { return (in_new ? old_store : new_store).live(each); });
}

// True also if a repeated request has made such a part again meanwhile, which belongs to nobody.
bool Stores::lost_a_part(Stamp stamp) {
  SimulatedStore& other = decides_in_new(stamp) ? old_store : new_store;
  const std::vector<Stamp> parts = others(stamp, *fate(stamp));
  return std::any_of(parts.begin(), parts.end(), [&](Stamp each) { return !other.live(each); });
}

bool Stores::ended(Stamp stamp) const {
  const Fate* const own = fate(stamp);
  if (own == nullptr) return false;
  if (own->end != Fate::End::none) return true;
  const SimulatedStore& other = decides_in_new(stamp) ? old_store : new_store;
  const std::vector<Stamp> parts = others(stamp, *own);
  return std::any_of(parts.begin(), parts.end(), [&](Stamp each) { return other.ended(each); });
}

const std::map<Stamp, Fate>& Stores::fates() const {
  fates_.clear();
  for (const auto& [stamp, fate] : old_store.fates()) {
    if (decides_in_old(fate)) fates_.emplace(stamp, fate);
  }
  for (const auto& [stamp, fate] : new_store.fates()) {
    if (decides_in_the_new(fate)) fates_.insert_or_assign(stamp, fate);
  }
  return fates_;
}

void Stores::begin() {
  old_store.begin();
  new_store.begin();
  for (TimePoint at = world_.now() + 333ms; at < setting_.old_store.settled; at += 1234ms) {
    world_.at(at, [this] { take_picture(); });
  }
}

// A snapshot of both at one instant: each hold that has an owner and is complete in its stores, by
// the record that decides.
void Stores::take_picture() {
  world_.record(history::SeenBegin{});
  for (SimulatedStore* const store : {&old_store, &new_store}) {
    const bool in_new = store == &new_store;
    const Result<Inspection> snapshot = store->serve(nullptr).inspect({}, TimePoint::max());
    for (const HoldInfo& hold : snapshot->holds) {
      const auto tag = migrate::tag_of(hold.owner.instance);
      if (!(in_new ? decides_in_the_new(tag) : decides_in_old(tag))) continue;
      if (is_reserved_name(hold.items.front().name)) continue;
      // A hold that has lost a part is over.
      if (!handed_over_.contains(hold.stamp) || !live(hold.stamp)) continue;
      if (lost_a_part(hold.stamp)) continue;
      history::Seen seen{hold.stamp, {}};
      for (const LockRequest& item : hold.items) seen.set.push_back({item.name, item.mode, 0});
      world_.record(std::move(seen));
    }
  }
  world_.record(history::SeenEnd{});
  ++world_.counts["snapshots"];
}

void Stores::finish() {
  old_store.finish();
  new_store.finish();
}

}  // namespace lockset::simulation
