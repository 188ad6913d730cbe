// Right steps, wrong answers.
#include <map>
#include <mutex>
#include <thread>

#include "lockset/forwarding_backend.h"
#include "tests/conformance/broken/flaws.h"

namespace lockset::broken {

namespace {

// The join lists only the rows that matched.
class InspectShowsAPart final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<Inspection> inspect(const InspectQuery& query, TimePoint by) override {
    Result<Inspection> all = inner().inspect(query, by);
    if (!all) return all;
    for (HoldInfo& hold : all->holds) {
      std::erase_if(hold.items, [&](const LockRequest& item) { return !query.matches({item}); });
    }
    return all;
  }
};

class ResolveFindsNothing final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<std::optional<Grant>> resolve(const HoldRef&, TimePoint) override {
    return std::optional<Grant>();
  }
};

// Looks into a log of grants instead of the holds.
class ResolveFindsTheDead final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    Result<AcquireOutcome> outcome = inner().try_acquire(request);
    if (const Grant* grant = outcome ? std::get_if<Grant>(&*outcome) : nullptr) {
      const std::lock_guard lock(mutex_);
      log_[request.token] = *grant;
    }
    return outcome;
  }
  Result<std::optional<Grant>> resolve(const HoldRef& attempt, TimePoint) override {
    const std::lock_guard lock(mutex_);
    const auto found = log_.find(attempt.token);
    return found == log_.end() ? std::optional<Grant>() : found->second;
  }

 private:
  std::mutex mutex_;
  std::map<Token, Grant> log_;
};

// Waiters sleep until their deadline.
class ReleaseWakesNobody final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Status await_change(WaitTicket&, TimePoint until, std::stop_token stop) override {
    while (BootClock::now() < until && !stop.stop_requested()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return {};
  }
};

}  // namespace

std::shared_ptr<Backend> inspect_shows_a_part(std::shared_ptr<Backend> sound) {
  return std::make_shared<InspectShowsAPart>(std::move(sound));
}
std::shared_ptr<Backend> resolve_finds_nothing(std::shared_ptr<Backend> sound) {
  return std::make_shared<ResolveFindsNothing>(std::move(sound));
}
std::shared_ptr<Backend> resolve_finds_the_dead(std::shared_ptr<Backend> sound) {
  return std::make_shared<ResolveFindsTheDead>(std::move(sound));
}
std::shared_ptr<Backend> release_wakes_nobody(std::shared_ptr<Backend> sound) {
  return std::make_shared<ReleaseWakesNobody>(std::move(sound));
}

}  // namespace lockset::broken
