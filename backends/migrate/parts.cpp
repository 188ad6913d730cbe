#include "backends/migrate/parts.h"

#include <algorithm>

namespace lockset::migrate {
namespace {

// Nobody asks for a hold that was not renewed for so long after its end.
constexpr Duration keep_after_end = std::chrono::minutes(1);
// A program is usually one application; holds of earlier instances may be left.
constexpr std::size_t most_applications = 64;

}  // namespace

void PartsBook::note(const Parts& parts, const std::string& app) {
  const std::lock_guard lock(mutex_);
  if (!app.empty()) {
    applications_.emplace_front(app, parts);
    if (applications_.size() > most_applications) applications_.pop_back();
  }
  parts_.insert_or_assign(parts.stamp(), parts);
  if (parts_.size() >= prune_at_) prune();
}

std::optional<Parts> PartsBook::find(Stamp stamp) const {
  const std::lock_guard lock(mutex_);
  const auto at = parts_.find(stamp);
  return at == parts_.end() ? std::nullopt : std::optional(at->second);
}

std::optional<Parts> PartsBook::epoch(Stamp stamp) const {
  const std::lock_guard lock(mutex_);
  const auto at = std::find_if(applications_.begin(), applications_.end(),
                               [&](const auto& each) { return each.second.stamp() == stamp; });
  return at == applications_.end() ? std::nullopt : std::optional(at->second);
}

void PartsBook::forget(Stamp stamp) {
  const std::lock_guard lock(mutex_);
  parts_.erase(stamp);
}

std::optional<Parts> PartsBook::application(const std::string& app) const {
  const std::lock_guard lock(mutex_);
  const auto at = std::find_if(applications_.begin(), applications_.end(),
                               [&](const auto& each) { return each.first == app; });
  return at == applications_.end() ? std::nullopt : std::optional(at->second);
}

Stamp PartsBook::epoch_of_old(Stamp part) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [app, parts] : applications_) {
    if (parts.in_old == part) return parts.stamp();
  }
  return part;
}

Stamp PartsBook::epoch_of_new(Stamp part) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [app, parts] : applications_) {
    if (parts.in_new == part) return parts.stamp();
  }
  return part;
}

// Lost holds are never released, so their entries are removed by time.
void PartsBook::prune() {
  const TimePoint now = BootClock::now();
  std::erase_if(parts_, [&](const auto& entry) {
    const TimePoint until = entry.second.until;
    return until != TimePoint::max() && until + keep_after_end < now;
  });
  prune_at_ = std::max<std::size_t>(1024, 2 * parts_.size());
}

}  // namespace lockset::migrate
