#include "tests/chaos/migration/migration_course.h"

#include <algorithm>
#include <utility>

#include "tests/chaos/observer.h"
#include "tests/chaos/workers.h"

namespace lockset::chaos {
namespace {

using namespace std::chrono_literals;

// A step waits for leases, for waiters that a dead client has left (15 s), and for stores to come
// back.
constexpr Duration time_of_step = 3min;
constexpr Duration time_of_quarrel = 8min;
// How much longer than planned a leg may be: restarts of stopped processes, faults of both stores.
constexpr Duration longest_journey = 2min;

// True if the permits of the two stores are equal at the end of each change.
bool permits_are_changed_in_all_stores(MigrationPhase phase) {
  return phase >= MigrationPhase::dual_old;
}

}  // namespace

MigrationCourse::MigrationCourse(std::vector<Leg> legs, std::size_t processes, Duration length,
                                 PairStore& stores, Helm helm, std::unique_ptr<Quarrel> quarrel,
                                 Progress& progress, const std::string& log)
    : legs_(std::move(legs)),
      processes_(processes),
      of_leg_(length / static_cast<Duration::rep>(legs_.size())),
      stores_(stores),
      progress_(progress),
      log_("migration", log),
      pilot_(stores.direct_old(), stores.direct_new(), std::move(helm)),
      quarrel_(std::move(quarrel)) {}

void MigrationCourse::begin(TimePoint began, const Cast& cast) {
  cast_.emplace(cast);
  left_overs_ = std::make_unique<LeftOvers>(stores_, cast_->workers, log_);
  spans_.push_back({.step = {}, .phase = leg().phase, .from = began, .to = {}});
  begin_leg(BootClock::now());
}

bool MigrationCourse::go_on(TimePoint now) {
  if (over_ || trouble_) return false;
  note_ways();
  switch (doing_) {
    case Doing::leg:
      if (play_leg(now)) break;
      end_leg(now);
      break;
    case Doing::waiting_for_permits:
      if (!cast_->observer.changing_permits()) begin_quarrel();
      break;
    case Doing::quarrel:
      if (auto quarrel = quarrel_->done()) {
        for (const std::string& each : quarrel->moves) progress_.note("quarrel: " + each);
        if (quarrel->failure) fail(*quarrel->failure);
        begin_step();
      }
      break;
    case Doing::step:
      if (auto step = pilot_.done()) {
        progress_.note(std::string(to_string(step->act)) + " has led to " +
                       std::string(to_string(step->phase)) + " after " +
                       std::to_string(step->tries) + " tries");
        if (step->failure) {
          fail("the step to " + std::string(to_string(step->phase)) +
               " could not be made: " + *step->failure);
        }
        spans_.back().step = std::move(step);
        close_span(now);
        spans_.push_back({.step = {}, .phase = leg().phase, .from = now, .to = {}});
        begin_leg(now);
      }
      break;
  }
  return !over_ && !trouble_;
}

std::optional<std::string> MigrationCourse::trouble() {
  if (!trouble_ && left_overs_) trouble_ = left_overs_->trouble();
  return trouble_;
}

void MigrationCourse::end() {
  pilot_.end();
  if (quarrel_) quarrel_->end();
  if (!left_overs_) return;
  refused_ = left_overs_->refused();
  refused_after_sleep_ = left_overs_->refused_after_sleep();
  ways_.merge(std::map(left_overs_->ways()));
  left_overs_.reset();
  if (spans_.back().to == TimePoint()) close_span(BootClock::now());
}

void MigrationCourse::fail(const std::string& what) {
  if (!trouble_) trouble_ = what;
}

std::string MigrationCourse::state(TimePoint) const {
  const std::string phase(to_string(leg().phase));
  const std::string place =
      " (" + std::to_string(at_ + 1) + " of " + std::to_string(legs_.size()) + ")";
  if (doing_ == Doing::leg) return phase + place;
  if (doing_ == Doing::quarrel) return phase + place + ", two steer at once";
  constexpr std::size_t room = 60;
  const std::string obstacle = pilot_.obstacle().substr(0, room);
  return "to " + phase + place + (obstacle.empty() ? "" : ", " + obstacle);
}

MigrationCourse::Faults MigrationCourse::count_faults() const {
  Faults count;
  for (const auto& [name, given] : cast_->faults.given()) {
    (name.starts_with("old-") ? count.of_old : count.of_new) += given.times;
  }
  return count;
}

void MigrationCourse::begin_leg(TimePoint now) {
  doing_ = Doing::leg;
  faults_before_ = count_faults();
  cast_->observer.change_permits(permits_are_changed_in_all_stores(leg().phase));
  to_restart_.clear();
  for (const Restart& restart : leg().restarts) {
    for (std::size_t i = restart.first; i < restart.last; ++i) {
      to_restart_.emplace_back(i, restart.way);
    }
  }
  between_restarts_ = of_leg_ / static_cast<Duration::rep>(to_restart_.size() + 2);
  restart_at_ = now + between_restarts_;
  std::reverse(to_restart_.begin(), to_restart_.end());
  for (const Way way : leg().sleepers) left_overs_->start_sleeper(way);
  for (const Way way : leg().refused) left_overs_->start_refused(way);
  for (const Way way : leg().woken) left_overs_->wake(way);
}

bool MigrationCourse::restart_next(TimePoint now) {
  Workers& workers = cast_->workers;
  if (leaving_ && workers.replacing(*leaving_)) return true;
  leaving_.reset();
  if (to_restart_.empty()) return false;
  if (now < restart_at_) return true;
  const auto [slot, way] = to_restart_.back();
  to_restart_.pop_back();
  stores_.configure(slot, way);
  workers.replace(slot);
  leaving_ = slot;
  ++spans_.back().restarts;
  restart_at_ = now + between_restarts_;
  progress_.note("worker " + std::to_string(slot) + " is restarted as " +
                 std::string(to_string(way)));
  return true;
}

bool MigrationCourse::play_leg(TimePoint now) {
  const bool restarting = restart_next(now);
  const bool judged = left_overs_->judged();
  const Faults faults = count_faults();
  const auto& given = cast_->faults.given();
  // Each store has had a fault in each phase, if it was to have any.
  const auto struck = [&](const std::string& side, std::size_t before, std::size_t after) {
    return after > before || std::none_of(given.begin(), given.end(), [&](const auto& each) {
             return each.first.starts_with(side);
           });
  };
  const bool all_struck = struck("old-", faults_before_.of_old, faults.of_old) &&
                          struck("new-", faults_before_.of_new, faults.of_new);
  const TimePoint end = spans_.back().from + of_leg_;
  if (now < end) return true;
  if (!restarting && judged && all_struck) return false;
  if (now > end + longest_journey) {
    fail("the phase " + std::string(to_string(leg().phase)) + " does not come to its end: " +
         (restarting ? "a process was not restarted"
          : !judged  ? "a process was not refused"
                     : "a store was in no trouble"));
  }
  return true;
}

void MigrationCourse::end_leg(TimePoint now) {
  left_overs_->fall_asleep();
  close_span(now);
  if (at_ + 1 == legs_.size()) {
    over_ = true;
    return;
  }
  ++at_;
  cast_->observer.change_permits(false);
  spans_.push_back({.step = {}, .phase = leg().phase, .from = now, .to = {}});
  faults_before_ = count_faults();
  doing_ = Doing::waiting_for_permits;
}

// If all processes have both addresses: a process that knows only one store is refused in some of
// the phases that a quarrel goes through, and served in others.
void MigrationCourse::begin_quarrel() {
  if (!quarrel_ || legs_.at(at_ - 1).phase != MigrationPhase::dual_new) return begin_step();
  progress_.note("two begin to quarrel");
  quarrel_->begin(of_leg_, of_leg_ + time_of_quarrel);
  doing_ = Doing::quarrel;
}

void MigrationCourse::begin_step() {
  progress_.note(std::string(to_string(*leg().act)) + " begins");
  pilot_.begin(*leg().act, legs_.at(at_ - 1).phase, leg().phase, time_of_step);
  doing_ = Doing::step;
}

void MigrationCourse::close_span(TimePoint now) {
  const Faults faults = count_faults();
  spans_.back().to = now;
  spans_.back().faults_of_old = faults.of_old - faults_before_.of_old;
  spans_.back().faults_of_new = faults.of_new - faults_before_.of_new;
}

// Killed processes have been replaced by others.
void MigrationCourse::note_ways() {
  for (std::size_t slot = 0; slot < processes_; ++slot) {
    ways_.try_emplace(cast_->workers.name(slot), stores_.way_of(slot));
  }
}

std::map<std::string, Way> MigrationCourse::ways() const { return ways_; }

}  // namespace lockset::chaos
