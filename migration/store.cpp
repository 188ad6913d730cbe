#include "migration/store.h"

#include <array>
#include <utility>
#include <variant>

namespace lockset::migrate {
namespace {

// How often a change whose reply was lost is repeated.
constexpr int most_tries = 3;
// Longer than a probing hold is needed; the hold remains if the process is killed.
constexpr Duration steering_lease = std::chrono::seconds(5);

}  // namespace

Error SteeredStore::named(Error e) const {
  e.message = called_ + ": " + e.message;
  return e;
}

Result<SpaceConfig> SteeredStore::load(TimePoint by) {
  const Result<Backend*> store = side_.get(by);
  if (!store) return named(store.error());
  Result<SpaceConfig> config = (*store)->load_config(by);
  if (!config) return named(std::move(config).error());
  return config;
}

Result<Inspection> SteeredStore::inspect(TimePoint by, const InspectQuery& query) {
  const Result<Backend*> store = side_.get(by);
  if (!store) return named(store.error());
  Result<Inspection> seen = (*store)->inspect(query, by);
  if (!seen) return named(std::move(seen).error());
  return seen;
}

Result<std::optional<SpaceConfig>> SteeredStore::set_mark(const SpaceConfig& seen,
                                                          const MigrationMark& mark, TimePoint by) {
  const Result<Backend*> store = side_.get(by);
  if (!store) return named(store.error());
  const SetMigrationPhase change{mark.encode(), seen.version};
  Error why;
  for (int i = 0; i < most_tries; ++i) {
    Result<SpaceConfig> now = (*store)->change_config(change, by);
    if (!now) {
      why = std::move(now).error();
      if (!why.may_have_applied()) return named(std::move(why));
      now = (*store)->load_config(by);
      if (!now) return named(std::move(why));
      // Not applied so far. It may be applied later: then the next attempt is refused and finds it
      // applied.
      if (now->version == seen.version) continue;
    }
    if (now->version != seen.version && now->migration_phase == mark.encode()) {
      return std::optional(*std::move(now));
    }
    return std::optional<SpaceConfig>();
  }
  return named(std::move(why));
}

Result<SpaceConfig> SteeredStore::raise_stamps(Stamp at_least, TimePoint by) {
  const Result<Backend*> store = side_.get(by);
  if (!store) return named(store.error());
  Result<SpaceConfig> now = (*store)->change_config(RaiseStampBase{at_least}, by);
  // Doing it twice is harmless.
  for (int i = 1; i < most_tries && !now && now.error().may_have_applied(); ++i) {
    now = (*store)->change_config(RaiseStampBase{at_least}, by);
  }
  if (!now) return named(std::move(now).error());
  return now;
}

Result<std::optional<Stamp>> SteeredStore::draw_stamp(std::int64_t config_version,
                                                      const Owner& owner, TimePoint by) {
  std::optional<Busy> in_the_way;
  const std::string name = std::string(steering_prefix) + ":" + Token::random().hex();
  Result<std::optional<ReservedHold>> hold =
      ReservedHold::take(*this, name, owner, steering_lease, by, in_the_way, config_version);
  if (!hold) return std::move(hold).error();
  if (!*hold) return std::optional<Stamp>();
  return std::optional((*hold)->stamp());
}

Result<std::optional<ReservedHold>> ReservedHold::take(
    SteeredStore& store, const std::string& name, const Owner& owner, Duration lease, TimePoint by,
    std::optional<Busy>& in_the_way, std::optional<std::int64_t> only_at_version) {
  const Result<Backend*> backend = store.get(by);
  if (!backend) return store.named(backend.error());
  const Result<LockSet> set = LockSet::make({write(name)}, LockSet::Names::reserved_too);
  if (!set) return set.error();
  constexpr std::array<std::uint32_t, 1> permits{1};
  AcquireRequest request;
  request.set = &*set;
  request.permits = permits;
  request.owner = &owner;
  request.lease = lease;
  request.by = by;
  if (only_at_version) {
    request.config_version = *only_at_version;
  } else {
    const Result<SpaceConfig> config = store.load(by);
    if (!config) return config.error();
    request.config_version = config->version;
    request.lease = std::min(lease, config->max_lease);
  }
  const auto reserved = [&](const Grant& grant) {
    return std::optional(ReservedHold(
        **backend, {*set, owner, request.token, grant.stamp, grant.store_time_us}, by));
  };
  for (int i = 0; i < most_tries; ++i) {
    request.token = Token::random();
    const Result<AcquireOutcome> outcome = (*backend)->try_acquire(request);
    if (!outcome) {
      if (outcome.error().may_have_applied()) {
        // If it is granted later, it ends with its lease.
        const Result<std::optional<Grant>> grant = (*backend)->resolve(request.token, by);
        if (grant && *grant) return reserved(**grant);
      }
      return store.named(outcome.error());
    }
    if (const Grant* grant = std::get_if<Grant>(&*outcome)) {
      return reserved(*grant);
    }
    if (const Busy* busy = std::get_if<Busy>(&*outcome)) {
      in_the_way = *busy;
      return std::optional<ReservedHold>();
    }
    if (only_at_version) return std::optional<ReservedHold>();
    const Result<SpaceConfig> config = store.load(by);
    if (!config) return config.error();
    request.config_version = config->version;
  }
  return Error{Errc::unavailable, store.called() + ": its configuration changes all the time"};
}

ReservedHold::~ReservedHold() {
  if (backend_ == nullptr) return;
  const Result<bool> released = backend_->release(hold_.ref(), hold_.owner.app, by_);
  if (!released && released.error().may_have_applied()) {
    static_cast<void>(backend_->release(hold_.ref(), hold_.owner.app, by_).ok());
  }
}

}  // namespace lockset::migrate
