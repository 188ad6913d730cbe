// Sets that are not granted as sets, and permits and versions that are ignored.
#include <map>
#include <mutex>
#include <thread>

#include "lockset/forwarding_backend.h"
#include "tests/conformance/broken/flaws.h"
#include "tests/support/client.h"
#include "tests/support/wait.h"

namespace lockset::broken {

namespace {

using test::make_set;
using test::soon;

// Takes one item of `request` alone, under its own token.
Result<AcquireOutcome> take_item(Backend& backend, const AcquireRequest& request, std::size_t i,
                                 Duration lease) {
  const LockSet single = make_set({request.set->items()[i]});
  AcquireRequest part = request;
  part.set = &single;
  part.permits = request.permits.subspan(i, 1);
  part.token = Token::random();
  part.lease = lease;
  part.will_wait = false;
  part.ticket = nullptr;
  return backend.try_acquire(part);
}

const Grant* grant_in(const Result<AcquireOutcome>& outcome) {
  return outcome ? std::get_if<Grant>(&*outcome) : nullptr;
}
Grant* grant_in(Result<AcquireOutcome>& outcome) {
  return outcome ? std::get_if<Grant>(&*outcome) : nullptr;
}

// Keeps the part that it got and forgets about it.
class BusyLeavesAPart final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    Result<AcquireOutcome> outcome = inner().try_acquire(request);
    if (!outcome || !std::holds_alternative<Busy>(*outcome)) return outcome;
    for (std::size_t i = 0; i < request.set->size(); ++i) {
      (void)take_item(inner(), request, i, request.lease);
    }
    return outcome;
  }
};

class ConfigVersionIgnored final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    for (;;) {
      AcquireRequest other = request;
      other.config_version = inner().load_config(request.by).value().version;
      Result<AcquireOutcome> outcome = inner().try_acquire(other);
      if (!outcome || !std::holds_alternative<Stale>(*outcome)) return outcome;
    }
  }
};

class OnlyAtVersionIgnored final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<SpaceConfig> change_config(const ConfigChange& change, TimePoint by) override {
    ConfigChange other = change;
    if (auto* phase = std::get_if<SetMigrationPhase>(&other)) phase->only_at_version.reset();
    return inner().change_config(other, by);
  }
};

// A comparison and then a change, where both have to be one step.
class OnlyAtVersionLookedAtBefore final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<SpaceConfig> change_config(const ConfigChange& change, TimePoint by) override {
    ConfigChange other = change;
    if (auto* phase = std::get_if<SetMigrationPhase>(&other); phase && phase->only_at_version) {
      Result<SpaceConfig> config = inner().load_config(by);
      if (!config || config->version != *phase->only_at_version) return config;
      test::linger(std::chrono::milliseconds(1));  // a round trip
      phase->only_at_version.reset();
    }
    return inner().change_config(other, by);
  }
};

class DuplicateMakesASecondHold final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    AcquireRequest other = request;
    other.token = Token::random();
    Result<AcquireOutcome> outcome = inner().try_acquire(other);
    if (grant_in(outcome) != nullptr) {
      const std::lock_guard lock(mutex_);
      tokens_[request.token] = other.token;
    }
    return outcome;
  }
  Result<std::optional<Grant>> resolve(const HoldRef& attempt, TimePoint by) override {
    const std::lock_guard lock(mutex_);
    const auto found = tokens_.find(attempt.token);
    return inner().resolve(found == tokens_.end() ? attempt.token : found->second, by);
  }

 private:
  std::mutex mutex_;
  std::map<Token, Token> tokens_;
};

class PermitsOffByOne final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    std::vector<std::uint32_t> permits(request.permits.begin(), request.permits.end());
    // Only if there are several: the most likely mistake is "<=" instead of "<".
    for (std::uint32_t& one : permits) one += one > 1 ? 1 : 0;
    AcquireRequest other = request;
    other.permits = permits;
    return inner().try_acquire(other);
  }
};

// Keeps a set as several holds; the stamp of the last one stands for the set.
class InParts : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<bool> release(const HoldRef& hold, std::string_view app, TimePoint by) override {
    for (const Stamp part : take_parts(hold.stamp)) (void)inner().release(part, app, by);
    return inner().release(hold, app, by);
  }

 protected:
  void remember(Stamp whole, std::vector<Stamp> parts) {
    const std::lock_guard lock(mutex_);
    parts_[whole] = std::move(parts);
  }

 private:
  std::vector<Stamp> take_parts(Stamp whole) {
    const std::lock_guard lock(mutex_);
    const auto node = parts_.extract(whole);
    return node ? node.mapped() : std::vector<Stamp>{};
  }
  std::mutex mutex_;
  std::map<Stamp, std::vector<Stamp>> parts_;
};

// A loop over single locks, orderly and with a rollback; but others see it while it runs.
class NamesTakenOneByOne final : public InParts {
 public:
  using InParts::InParts;
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    std::vector<Stamp> parts;
    std::vector<Stamp> floors;
    for (std::size_t i = 0; i < request.set->size(); ++i) {
      Result<AcquireOutcome> outcome = take_item(inner(), request, i, request.lease);
      Grant* grant = grant_in(outcome);
      if (grant == nullptr) {
        for (const Stamp part : parts) (void)inner().release(part, request.owner->app, request.by);
        return outcome;
      }
      parts.push_back(grant->stamp);
      floors.push_back(grant->floors.at(0));
      std::this_thread::yield();
      if (i + 1 == request.set->size()) {
        parts.pop_back();
        grant->floors = floors;
        remember(grant->stamp, parts);
        return outcome;
      }
    }
    return Error{Errc::internal, "an empty set"};
  }
};

// The first name has its own, earlier expiry.
class MembersExpireOneByOne final : public InParts {
 public:
  using InParts::InParts;
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    if (request.set->size() == 1) return inner().try_acquire(request);
    const auto items = request.set->items();
    const Result<AcquireOutcome> first = take_item(inner(), request, 0, request.lease / 2);
    const Grant* part = grant_in(first);
    if (part == nullptr) return first;
    const LockSet rest = make_set({items.begin() + 1, items.end()});
    AcquireRequest other = request;
    other.set = &rest;
    other.permits = request.permits.subspan(1);
    Result<AcquireOutcome> outcome = inner().try_acquire(other);
    if (Grant* grant = grant_in(outcome)) {
      remember(grant->stamp, {part->stamp});
      grant->floors.insert(grant->floors.begin(), part->floors.at(0));
    } else {
      (void)inner().release(part->stamp, request.owner->app, soon());
    }
    return outcome;
  }
};

}  // namespace

std::shared_ptr<Backend> busy_leaves_a_part(std::shared_ptr<Backend> sound) {
  return std::make_shared<BusyLeavesAPart>(std::move(sound));
}
std::shared_ptr<Backend> config_version_ignored(std::shared_ptr<Backend> sound) {
  return std::make_shared<ConfigVersionIgnored>(std::move(sound));
}
std::shared_ptr<Backend> only_at_version_ignored(std::shared_ptr<Backend> sound) {
  return std::make_shared<OnlyAtVersionIgnored>(std::move(sound));
}
std::shared_ptr<Backend> only_at_version_looked_at_before(std::shared_ptr<Backend> sound) {
  return std::make_shared<OnlyAtVersionLookedAtBefore>(std::move(sound));
}
std::shared_ptr<Backend> duplicate_makes_a_second_hold(std::shared_ptr<Backend> sound) {
  return std::make_shared<DuplicateMakesASecondHold>(std::move(sound));
}
std::shared_ptr<Backend> permits_off_by_one(std::shared_ptr<Backend> sound) {
  return std::make_shared<PermitsOffByOne>(std::move(sound));
}
std::shared_ptr<Backend> names_taken_one_by_one(std::shared_ptr<Backend> sound) {
  return std::make_shared<NamesTakenOneByOne>(std::move(sound));
}
std::shared_ptr<Backend> members_expire_one_by_one(std::shared_ptr<Backend> sound) {
  return std::make_shared<MembersExpireOneByOne>(std::move(sound));
}

}  // namespace lockset::broken
