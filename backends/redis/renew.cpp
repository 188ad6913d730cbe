#include <algorithm>
#include <map>

#include "backends/redis/backend.h"
#include "backends/redis/record.h"

namespace lockset::redis {

using std::chrono::microseconds;

struct RedisBackend::Renewing {
  Stamp stamp;
  Duration lease{};
  std::shared_ptr<const KnownHold> hold;
  // The caller holds it, as this client knows or was told: it may be registered again.
  bool claimed = false;
  bool own = false;  // this client knew so itself
  std::optional<Duration> left;
};

Result<RenewReply> RedisBackend::renew(const Owner& owner, std::span<const RenewRequest> requests,
                                       TimePoint by) {
  // Each stamp once; what was asked for most counts.
  std::map<Stamp, Renewing> wanted;
  for (const RenewRequest& request : requests) {
    if (request.permanent) {
      return Error{Errc::unsupported, "Redis keeps no hold without a lease: set one"};
    }
    Renewing& one = wanted[request.stamp];
    one.stamp = request.stamp;
    one.lease = std::max(one.lease, request.lease);
    if (one.hold) continue;
    one.hold = known_.find(request.stamp);
    one.own = one.hold != nullptr;
    one.claimed = one.own || (request.set != nullptr && request.token != Token());
    if (one.hold || !one.claimed) continue;
    auto told = std::make_shared<KnownHold>();
    told->items.assign(request.set->items().begin(), request.set->items().end());
    told->owner = owner;
    told->token = request.token;
    one.hold = std::move(told);
  }
  // Those that this client does not know have to be looked up for their names.
  std::vector<Stamp> strange;
  for (const auto& [stamp, one] : wanted) {
    if (!one.hold) strange.push_back(stamp);
  }
  const auto found = look_up(strange, by);
  if (!found) return found.error();
  for (std::size_t i = 0; i < strange.size(); ++i) wanted[strange[i]].hold = (*found)[i];

  RenewReply reply;
  std::vector<Renewing> all;
  for (auto& [stamp, one] : wanted) {
    if (one.hold) all.push_back(std::move(one));
  }
  for (std::size_t done = 0; done < all.size() || reply.store_time_us == 0;) {
    std::size_t keys = 0;
    std::size_t end = done;
    while (end < all.size() && end - done < most_holds &&
           (end == done || keys + 2 * all[end].hold->items.size() <= most_keys)) {
      keys += 2 * all[end++].hold->items.size();
    }
    const Status status = renew_some(owner, std::span(all).subspan(done, end - done), reply, by);
    if (!status) return status.error();
    done = end;
  }
  std::map<Stamp, std::optional<Duration>> left;
  for (const Renewing& one : all) left[one.stamp] = one.left;
  for (const RenewRequest& request : requests) {
    const auto of = left.find(request.stamp);
    reply.renewals.push_back(of == left.end() || !of->second ? std::nullopt
                                                             : std::optional(Renewal{*of->second}));
  }
  return reply;
}

Status RedisBackend::renew_some(const Owner& owner, std::span<Renewing> some, RenewReply& reply,
                                TimePoint by) {
  Call call;
  call.arguments = {packed(owner.app)};
  for (const Renewing& one : some) {
    call.arguments.push_back(std::to_string(one.stamp.value));
    call.arguments.push_back(std::to_string(micros(one.lease)));
    call.arguments.push_back(modes_of(one.hold->items));
    for (const LockRequest& item : one.hold->items) {
      call.keys.push_back(store_->keys().name(item.name));
      call.keys.push_back(store_->keys().shared(item.name));
    }
  }
  const TimePoint sent = BootClock::now();
  const Result<Reply> answer = store_->run(scripts::renew, call, by, Lane::renewal);
  if (!answer) return answer.error();
  if ((*answer)[0].text() != "W" || answer->size() != 3 + some.size()) {
    return store_->nonsense(scripts::renew.name);
  }
  reply.store_time_us = (*answer)[1].number();
  const bool in_quarantine = (*answer)[2].number() == 1;
  for (std::size_t i = 0; i < some.size(); ++i) {
    Renewing& one = some[i];
    const std::int64_t left = (*answer)[3 + i].number();
    if (left > 0) {
      one.left = microseconds(left);
      known_.renewed(one.stamp, sent + *one.left);
    } else if (left < 0 && in_quarantine && one.claimed && one.hold->owner.app == owner.app) {
      if (Status status = reregister(owner, one, by); !status) return status;
    }
  }
  return {};
}

Status RedisBackend::reregister(const Owner& owner, Renewing& one, TimePoint by) {
  // What this client was granted itself it knows the end of; for others the core knows it.
  // One that is known no more was released meanwhile.
  const bool own = one.own || known_.find(one.stamp) != nullptr;
  std::shared_ptr<const KnownHold> hold = own ? known_.find_live(one.stamp) : one.hold;
  if (!hold) return {};
  for (int i = 0; i < 10; ++i) {
    const std::optional<SpaceConfig> config = store_->memory().get().config;
    if (!config) return {};
    // SEM 12: a newer instance had ended it.
    const auto epoch = config->epochs.find(owner.app);
    if (epoch != config->epochs.end() && hold->owner.epoch < epoch->second) return {};
    Call call;
    add_keys(call, store_->keys(), hold->items, false);
    call.arguments = {
        std::to_string(config->version),
        std::to_string(one.stamp.value),
        std::to_string(micros(one.lease)),
        packed(owner.app),
        hold->token.hex(),
        std::to_string(hold->since_us) + ";" + pack(hold->token, hold->owner, hold->items),
        modes_of(hold->items)};
    for (const LockRequest& item : hold->items) {
      call.arguments.push_back(std::to_string(config->permits_of(item.name).of(item.mode)));
    }
    const TimePoint sent = BootClock::now();
    const Result<Reply> reply = store_->run(scripts::reregister, call, by, Lane::renewal);
    if (!reply) return reply.error();
    const std::string_view kind = (*reply)[0].text();
    if (kind == "W") {
      one.left = microseconds((*reply)[1].number());
      known_.renewed(one.stamp, sent + *one.left);
      // Released while this was under way: nobody would release it otherwise.
      if (own && !known_.find(one.stamp)) {
        one.left.reset();
        static_cast<void>(end_hold(one.stamp, owner.app, by).ok());
      }
      return {};
    }
    if (kind != "S") return {};
    const Result<SpaceConfig> newer = store_->load_config(by);
    if (!newer) return newer.error();
  }
  return {};
}

}  // namespace lockset::redis
