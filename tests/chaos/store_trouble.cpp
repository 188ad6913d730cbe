#include "tests/chaos/store_trouble.h"

#include <algorithm>
#include <utility>

namespace lockset::chaos {
namespace {

std::vector<StoreSchedule::Shape> shapes(Store& store, const std::vector<std::size_t>& chosen) {
  std::vector<StoreSchedule::Shape> result;
  for (const std::size_t index : chosen) {
    const Fault& fault = store.faults().at(index);
    result.push_back({fault.shortest, fault.longest, fault.group});
  }
  return result;
}

}  // namespace

StoreTrouble::StoreTrouble(Store& store, std::vector<std::size_t> chosen, Duration longest_calm,
                           std::uint64_t seed, test::Recorder& log, Told told)
    : store_(store),
      chosen_(std::move(chosen)),
      schedule_(seed, shapes(store, chosen_), longest_calm),
      log_(log),
      told_(std::move(told)) {
  for (std::size_t i = 0; i < chosen_.size(); ++i) {
    given_[fault(i).name].hits = fault(i).hits ? std::optional<std::size_t>(0) : std::nullopt;
  }
  if (chosen_.empty()) return;
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void StoreTrouble::end() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

void StoreTrouble::run(const std::stop_token& stop) {
  while (!stop.stop_requested() && !failure()) play(schedule_.next(), stop);
}

// At most two faults are under way; each ends at its time, or when the run ends.
void StoreTrouble::play(const StoreSchedule::Round& round, const std::stop_token& stop) {
  wait(BootClock::now() + round.calm, stop);
  if (stop.stop_requested()) return;
  const TimePoint began = BootClock::now();
  std::vector<Running> mine;
  const auto give = [&](const StoreSchedule::One& one) {
    if (!begin(one)) return;
    mine.push_back({one.fault, BootClock::now() + one.lasts});
    const std::scoped_lock lock(mutex_);
    running_ = mine;
  };
  give(round.first);
  if (round.second) {
    wait(began + round.second_after, stop);
    if (!stop.stop_requested()) give(*round.second);
  }
  while (!mine.empty()) {
    const auto next =
        std::min_element(mine.begin(), mine.end(),
                         [](const Running& a, const Running& b) { return a.until < b.until; });
    wait(next->until, stop);
    end_one(*next);
    mine.erase(next);
    const std::scoped_lock lock(mutex_);
    running_ = mine;
  }
  const std::scoped_lock lock(mutex_);
  busy_ += BootClock::now() - began;
}

bool StoreTrouble::begin(const StoreSchedule::One& one) {
  Fault& fault = this->fault(one.fault);
  {
    const std::scoped_lock lock(mutex_);
    ++given_[fault.name].times;
  }
  log_.record(history::FaultBegin{fault.name});
  try {
    Dice dice(one.seed);
    told_(fault.name + " begins: " + fault.begin(dice));
    return true;
  } catch (const std::exception& error) {
    fail("the fault " + fault.name + " could not begin: " + error.what());
  }
  // It may be half done.
  end_one({one.fault, {}});
  return false;
}

void StoreTrouble::end_one(const Running& running) {
  Fault& fault = this->fault(running.fault);
  try {
    if (fault.hits) {
      const std::size_t hits = fault.hits();
      const std::scoped_lock lock(mutex_);
      *given_[fault.name].hits += hits;
    }
    fault.end();
    told_(fault.name + " has ended");
  } catch (const std::exception& error) {
    fail("the fault " + fault.name + " could not end: " + error.what());
  }
  log_.record(history::FaultEnd{fault.name});
}

void StoreTrouble::wait(TimePoint until, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested() && BootClock::now() < until) {
    wake_.wait_for(lock, stop, std::min<Duration>(until - BootClock::now(), std::chrono::hours(1)),
                   [] { return false; });
  }
}

void StoreTrouble::fail(const std::string& what) {
  told_(what);
  const std::scoped_lock lock(mutex_);
  if (!failure_) failure_ = what;
}

std::string StoreTrouble::present() const {
  const std::scoped_lock lock(mutex_);
  std::string text;
  for (const Running& each : running_) {
    const std::string& name = store_.faults().at(chosen_.at(each.fault)).name;
    text += (text.empty() ? "" : ", ") + name;
  }
  return text.empty() ? "none" : text;
}

std::map<std::string, Given> StoreTrouble::given() const {
  const std::scoped_lock lock(mutex_);
  return given_;
}

Duration StoreTrouble::busy() const {
  const std::scoped_lock lock(mutex_);
  return busy_;
}

std::size_t StoreTrouble::total() const {
  std::size_t total = 0;
  for (const auto& [name, one] : given()) total += one.times;
  return total;
}

std::optional<std::string> StoreTrouble::failure() const {
  const std::scoped_lock lock(mutex_);
  return failure_;
}

}  // namespace lockset::chaos
