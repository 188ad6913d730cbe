// Mistakes about traces of writes and conditions: semantics 27 and 28.
#include <algorithm>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "lockset/forwarding_backend.h"
#include "tests/conformance/broken/flaws.h"
#include "tests/support/wait.h"

namespace lockset::broken {
namespace {

using std::chrono::microseconds;

std::vector<Trace>* traces_in(Result<ObserveOutcome>& outcome) {
  return outcome ? std::get_if<std::vector<Trace>>(&*outcome) : nullptr;
}

class WriteLeavesNoTrace final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<ObserveOutcome> observe(const ObserveRequest& request) override {
    Result<ObserveOutcome> outcome = inner().observe(request);
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; traces_in(outcome) != nullptr && i < request.names.size(); ++i) {
      Trace& trace = (*traces_in(outcome))[i];
      trace.last_write = first_.try_emplace(request.names[i], trace.last_write).first->second;
    }
    return outcome;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, Stamp> first_;
};

// A write looks whether its names have traces before it is granted, and an observation makes one
// without the lock of the name.
class TraceMadeBesideWrites final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    std::vector<std::string> traced;
    {
      const std::lock_guard lock(mutex_);
      for (const LockRequest& item : request.set->items()) {
        if (item.mode == Mode::write && traces_.contains(item.name)) traced.push_back(item.name);
      }
    }
    test::linger(microseconds(50));  // on its way between two statements
    Result<AcquireOutcome> outcome = inner().try_acquire(request);
    if (const Grant* grant = outcome ? std::get_if<Grant>(&*outcome) : nullptr) {
      const std::lock_guard lock(mutex_);
      for (const std::string& name : traced) traces_[name] = grant->stamp;
    }
    return outcome;
  }
  Result<ObserveOutcome> observe(const ObserveRequest& request) override {
    Result<ObserveOutcome> outcome = inner().observe(request);
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; traces_in(outcome) != nullptr && i < request.names.size(); ++i) {
      Trace& trace = (*traces_in(outcome))[i];
      trace.last_write = traces_.try_emplace(request.names[i], trace.last_write).first->second;
    }
    return outcome;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, Stamp> traces_;
};

class BeingWrittenNotSaid final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<ObserveOutcome> observe(const ObserveRequest& request) override {
    Result<ObserveOutcome> outcome = inner().observe(request);
    if (std::vector<Trace>* traces = traces_in(outcome)) {
      for (Trace& trace : *traces) trace.being_written = false;
    }
    return outcome;
  }
};

class ConditionIgnored final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    AcquireRequest other = request;
    other.unchanged_since = {};
    return inner().try_acquire(other);
  }
};

// A look and then a grant, where both have to be one step.
class ConditionLookedAtBefore final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    for (const Expected& each : request.unchanged_since) {
      const std::vector<std::string> name{request.set->items()[each.item].name};
      Result<ObserveOutcome> outcome = inner().observe({name, request.config_version, request.by});
      std::vector<Trace>* traces = traces_in(outcome);
      if (traces == nullptr) break;  // the attempt is stale, too
      if (traces->front().last_write != each.last_write) {
        return AcquireOutcome(Changed{each.item, std::move(traces->front())});
      }
    }
    test::linger(std::chrono::milliseconds(1));  // a round trip
    AcquireRequest other = request;
    other.unchanged_since = {};
    return inner().try_acquire(other);
  }
};

}  // namespace

std::shared_ptr<Backend> write_leaves_no_trace(std::shared_ptr<Backend> sound) {
  return std::make_shared<WriteLeavesNoTrace>(std::move(sound));
}
std::shared_ptr<Backend> trace_made_beside_writes(std::shared_ptr<Backend> sound) {
  return std::make_shared<TraceMadeBesideWrites>(std::move(sound));
}
std::shared_ptr<Backend> being_written_not_said(std::shared_ptr<Backend> sound) {
  return std::make_shared<BeingWrittenNotSaid>(std::move(sound));
}
std::shared_ptr<Backend> condition_ignored(std::shared_ptr<Backend> sound) {
  return std::make_shared<ConditionIgnored>(std::move(sound));
}
std::shared_ptr<Backend> condition_looked_at_before(std::shared_ptr<Backend> sound) {
  return std::make_shared<ConditionLookedAtBefore>(std::move(sound));
}

}  // namespace lockset::broken
