#include "tests/quorum/nodes.h"

#include <algorithm>
#include <utility>

#include "core/wait_until.h"

namespace lockset::test {

void Way::hold_answers_back() {
  const std::lock_guard lock(mutex_);
  mood_ = Mood::holds_back;
}

void Way::hang() {
  const std::lock_guard lock(mutex_);
  mood_ = Mood::hangs;
}

void Way::let_answers_through() {
  const std::lock_guard lock(mutex_);
  mood_ = Mood::usual;
  changed_.notify_all();
}

// True if it waited, and for nothing.
bool Way::wait(Mood mood, TimePoint by) {
  std::unique_lock lock(mutex_);
  if (mood_ != mood) return false;
  return !wait_until(changed_, lock, by, [&] { return mood_ != mood; });
}

template <class Send>
auto Way::send(TimePoint by, Send forward) -> decltype(forward()) {
  ++calls;
  if (down) return Error{Errc::unavailable, "the network is down"};
  if (wait(Mood::hangs, by)) return Error{Errc::unavailable, "it hangs"};
  auto answer = forward();
  if (wait(Mood::holds_back, by)) return Error{Errc::indeterminate, "the answer was lost"};
  return answer;
}

// A test may move the clock of one node, which is not the one on which clients count.
Traits Way::traits() const {
  Traits traits = ForwardingBackend::traits();
  traits.clock = nullptr;
  return traits;
}
Result<AcquireOutcome> Way::try_acquire(const AcquireRequest& request) {
  return send(request.by, [&] {
    Result<AcquireOutcome> outcome = ForwardingBackend::try_acquire(request);
    ++acquires;
    return outcome;
  });
}
Result<std::optional<Grant>> Way::resolve(const HoldRef& attempt, TimePoint by) {
  return send(by, [&] { return ForwardingBackend::resolve(attempt, by); });
}
Result<RenewReply> Way::renew(const Owner& owner, std::span<const RenewRequest> requests,
                              TimePoint by) {
  return send(by, [&] {
    Result<RenewReply> reply = ForwardingBackend::renew(owner, requests, by);
    if (reply && forgets) {
      reply->renewals.assign(requests.size(), std::nullopt);
      reply->forgotten.assign(requests.size(), true);
    }
    return reply;
  });
}
Result<ReregisterOutcome> Way::reregister(const Owner& /*owner*/, const ReregisterRequest& request,
                                          TimePoint by) {
  return send(by, [&]() -> Result<ReregisterOutcome> {
    registered = request.renewal.hold.stamp.value;
    return ReregisterOutcome(Renewal{request.renewal.lease});
  });
}
Result<bool> Way::release(const HoldRef& hold, std::string_view app, TimePoint by) {
  return send(by, [&] { return ForwardingBackend::release(hold, app, by); });
}
Result<bool> Way::break_hold(const HoldRef& hold, TimePoint by) {
  return send(by, [&] { return ForwardingBackend::break_hold(hold, by); });
}
Result<Inspection> Way::inspect(const InspectQuery& query, TimePoint by) {
  return send(by, [&] { return ForwardingBackend::inspect(query, by); });
}
Result<SpaceConfig> Way::load_config(TimePoint by) {
  return send(by, [&] { return ForwardingBackend::load_config(by); });
}
Result<SpaceConfig> Way::change_config(const ConfigChange& change, TimePoint by) {
  return send(by, [&] { return ForwardingBackend::change_config(change, by); });
}

Nodes::Nodes(std::size_t count, bool exact) : exact_(exact) {
  for (std::size_t i = 0; i < count; ++i) {
    clocks.push_back(std::make_unique<NodeClock>());
    places_.push_back(std::make_shared<Place>(*clocks.back()));
  }
  init().value();
}

// A client of a node keeps its address, whatever happens to the space there.
class Nodes::Reopening final : public Backend {
 public:
  explicit Reopening(std::shared_ptr<Place> place) : place_(std::move(place)) {}
  [[nodiscard]] Traits traits() const override { return now()->traits(); }
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    AcquireRequest plain = request;  // nobody waits at a node that may be wiped
    plain.will_wait = false;
    plain.ticket = nullptr;
    return now()->try_acquire(plain);
  }
  Result<std::optional<Grant>> resolve(const HoldRef& attempt, TimePoint by) override {
    return now()->resolve(attempt, by);
  }
  Result<RenewReply> renew(const Owner& owner, std::span<const RenewRequest> requests,
                           TimePoint by) override {
    return now()->renew(owner, requests, by);
  }
  Result<bool> release(const HoldRef& hold, std::string_view app, TimePoint by) override {
    return now()->release(hold, app, by);
  }
  Result<bool> break_hold(const HoldRef& hold, TimePoint by) override {
    return now()->break_hold(hold, by);
  }
  Status await_change(WaitTicket& /*ticket*/, TimePoint /*until*/,
                      std::stop_token /*stop*/) override {
    return {};
  }
  void end_wait(WaitTicket& /*ticket*/, TimePoint /*by*/) override {}
  Result<Inspection> inspect(const InspectQuery& query, TimePoint by) override {
    return now()->inspect(query, by);
  }
  Result<SpaceConfig> load_config(TimePoint by) override { return now()->load_config(by); }
  Result<SpaceConfig> change_config(const ConfigChange& change, TimePoint by) override {
    return now()->change_config(change, by);
  }
  Result<std::size_t> reclaim(std::string_view app, std::int64_t epoch, TimePoint by) override {
    return now()->reclaim(app, epoch, by);
  }
  Result<std::size_t> sweep(TimePoint by) override { return now()->sweep(by); }

 private:
  [[nodiscard]] std::unique_ptr<Backend> now() const { return make_memory_backend(place_->get()); }
  const std::shared_ptr<Place> place_;
};

Result<Process> Nodes::try_open(const std::vector<std::size_t>& down) {
  Process process;
  std::vector<quorum::NodeAddress> addresses;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    auto way = std::make_shared<Way>(std::make_shared<Reopening>(places_[i]));
    way->down = std::find(down.begin(), down.end(), i) != down.end();
    process.to.push_back(way);
    class Shared final : public ForwardingBackend {
     public:
      using ForwardingBackend::ForwardingBackend;
    };
    addresses.push_back({.name = "node " + std::to_string(i + 1),
                         .open = [way](TimePoint) -> Result<std::unique_ptr<Backend>> {
                           return std::unique_ptr<Backend>(std::make_unique<Shared>(way));
                         },
                         .exact = exact_});
  }
  Result<std::unique_ptr<Backend>> backend = quorum::open_quorum_backend(addresses, soon());
  if (!backend) return std::move(backend).error();
  process.backend = *std::move(backend);
  return process;
}

Process Nodes::open(const std::vector<std::size_t>& down) { return try_open(down).value(); }

void Nodes::wipe(std::size_t node) { places_[node]->wipe(); }

std::vector<HoldInfo> Nodes::in(std::size_t node) {
  return alone(node)->inspect({}, soon()).value().holds;
}

std::vector<quorum::NodeAddress> Nodes::addresses() const {
  std::vector<quorum::NodeAddress> result;
  for (const auto& place : places_) {
    result.push_back({.name = "node " + std::to_string(result.size() + 1),
                      .open = [place](TimePoint) -> Result<std::unique_ptr<Backend>> {
                        return make_memory_backend(place->get());
                      },
                      .exact = exact_});
  }
  return result;
}

}  // namespace lockset::test
