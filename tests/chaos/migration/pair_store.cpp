#include "tests/chaos/migration/pair_store.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "lockset/lockset.h"
#include "lockset/migration.h"

namespace lockset::chaos {
namespace {

Left operator+(const Left& a, const Left& b) {
  return {.holds = a.holds + b.holds,
          .waiters = a.waiters + b.waiters,
          .connections = a.connections + b.connections};
}

// Why this fault is left out here; empty if it is not.
std::string left_out(const Fault& fault) {
  if (fault.kind == FaultKind::state || fault.kind == FaultKind::restore) {
    return "a store that is put back to an earlier state takes part in no migration";
  }
  if (fault.name == "sessions-expired") {
    return "it breaks holds, and knows of their part in this store alone";
  }
  return {};
}

// The shadow's last reports outlive their clients by minutes, so that people can read them.
void remove_reports(const std::string& url) {
  const TimePoint by = BootClock::now() + std::chrono::seconds(10);
  const auto store = open_backend(url, by);
  if (!store) return;
  const auto reports = (*store)->inspect({InspectQuery::Match::prefix, "@shadow:"}, by);
  if (!reports) return;
  for (const HoldInfo& report : reports->holds) (void)(*store)->break_hold(report.stamp, by).ok();
}

}  // namespace

PairStore::PairStore(std::unique_ptr<Store> from, std::unique_ptr<Store> to)
    : from_(std::move(from)), to_(std::move(to)) {
  add_faults(*from_, "old");
  add_faults(*to_, "new");
}

void PairStore::add_faults(Store& store, const std::string& side) {
  for (const std::string& each : store.missing()) missing_.push_back(side + "-" + each);
  for (const Fault& each : store.faults()) {
    if (const std::string why = left_out(each); !why.empty()) {
      missing_.push_back(side + "-" + each.name + ": " + why);
      continue;
    }
    Fault fault = each;
    fault.also = fault.name;
    fault.name = side + "-" + fault.name;
    if (!fault.group.empty()) fault.group = side + "-" + fault.group;
    faults_.push_back(std::move(fault));
  }
}

void PairStore::configure(std::size_t slot, Way way) {
  if (slot >= ways_.size()) ways_.resize(slot + 1, Way::old_store);
  ways_[slot] = way;
}

Way PairStore::way_of(std::size_t slot) const {
  return slot < ways_.size() ? ways_[slot] : Way::old_store;
}

std::string PairStore::url(std::size_t slot, Way way) const {
  switch (way) {
    case Way::old_store:
      return from_->worker_url(slot);
    case Way::new_store:
      return to_->worker_url(slot);
    case Way::both:
      break;
  }
  return migrate_url(from_->worker_url(slot), to_->worker_url(slot));
}

bool PairStore::bears_stopped(Way way) const {
  const bool old_file = from_->name() == "sqlite" && way != Way::new_store;
  const bool new_file = to_->name() == "sqlite" && way != Way::old_store;
  return !old_file && !new_file;
}

std::string PairStore::name() const { return from_->name() + " -> " + to_->name(); }
std::string PairStore::version() const { return from_->version() + " -> " + to_->version(); }

std::string PairStore::worker_url(std::size_t worker) const { return url(worker, way_of(worker)); }

std::string PairStore::direct_url() const { return migrate_url(direct_old(), direct_new()); }

Duration PairStore::lease() const { return std::max(from_->lease(), to_->lease()); }

void PairStore::settle() {
  from_->settle();
  to_->settle();
}

Left PairStore::count() { return from_->count() + to_->count(); }

Left PairStore::left() {
  remove_reports(to_->direct_url());
  return from_->left() + to_->left();
}

// Whatever one of the stores may do late can affect a hold in both.
history::Rules PairStore::rules() const {
  history::Rules rules = from_->rules();
  const history::Rules other = to_->rules();
  rules.slack = std::max(rules.slack, other.slack);
  rules.slack_per_lease = std::max(rules.slack_per_lease, other.slack_per_lease);
  rules.late = std::max(rules.late, other.late);
  rules.lost_delay = std::max(rules.lost_delay, other.lost_delay);
  rules.reply = std::max(rules.reply, other.reply);
  rules.idle = std::max(rules.idle, other.idle);
  rules.recovery = std::max(rules.recovery, other.recovery);
  rules.outage = std::max(rules.outage, other.outage);
  rules.denials_end = rules.denials_end && other.denials_end;
  // What was observed ends when another store begins to give the stamps. A part that the other
  // store refused was there for a moment, and has left its stamp.
  rules.spurious_changes = std::numeric_limits<double>::infinity();
  return rules;
}

void PairStore::save_logs(const std::filesystem::path& folder) {
  std::error_code ignored;
  for (const auto& [store, side] : {std::pair(from_.get(), "old"), std::pair(to_.get(), "new")}) {
    std::filesystem::create_directories(folder / side, ignored);
    store->save_logs(folder / side);
  }
}

}  // namespace lockset::chaos
