#include "backends/quorum/book.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/time_math.h"

namespace lockset::quorum {
namespace {

// How long after its lease a hold may still be asked for.
constexpr Duration remembered = std::chrono::minutes(2);

}  // namespace

void Book::note(Stamp whole, Held held) {
  const std::lock_guard lock(mutex_);
  held_.insert_or_assign(whole, std::move(held));
  if (held_.size() < prune_held_at_) return;
  // Holds that nobody released: their leases have ended.
  const TimePoint now = BootClock::now();
  std::erase_if(held_, [&](const auto& entry) {
    const auto& parts = entry.second.parts;
    return std::all_of(parts.begin(), parts.end(),
                       [&](const Part& part) { return later(part.until, remembered) < now; });
  });
  prune_held_at_ = std::max<std::size_t>(1024, 2 * held_.size());
}

std::optional<Held> Book::find(Stamp whole) const {
  const std::lock_guard lock(mutex_);
  const auto at = held_.find(whole);
  return at == held_.end() ? std::nullopt : std::optional(at->second);
}

std::optional<Held> Book::begin_end(Stamp whole) {
  const std::lock_guard lock(mutex_);
  const auto at = held_.find(whole);
  if (at == held_.end()) return {};
  at->second.ending = true;
  return at->second;
}

void Book::take_back_end(Stamp whole) {
  const std::lock_guard lock(mutex_);
  const auto at = held_.find(whole);
  if (at != held_.end()) at->second.ending = false;
}

bool Book::add_part(Stamp whole, std::size_t seat, const Part& part) {
  const std::lock_guard lock(mutex_);
  const auto at = held_.find(whole);
  if (at == held_.end() || at->second.ending || at->second.parts[seat].stamp) return false;
  at->second.parts[seat] = part;
  return true;
}

void Book::forget(Stamp whole) {
  const std::lock_guard lock(mutex_);
  held_.erase(whole);
}

void Book::note_attempt(const Token& token, const Attempt& attempt) {
  const std::lock_guard lock(mutex_);
  const TimePoint now = BootClock::now();
  if (attempts_.size() >= prune_attempts_at_) {
    std::erase_if(attempts_, [&](const auto& entry) { return entry.second.until < now; });
    prune_attempts_at_ = std::max<std::size_t>(4096, 2 * attempts_.size());
  }
  attempts_.insert_or_assign(token, attempt);
}

std::optional<Book::Attempt> Book::attempt(const Token& token) const {
  const std::lock_guard lock(mutex_);
  const auto at = attempts_.find(token);
  return at == attempts_.end() ? std::nullopt : std::optional(at->second);
}

}  // namespace lockset::quorum
