#include <algorithm>
#include <map>

#include "backends/redis/backend.h"
#include "backends/redis/record.h"

namespace lockset::redis {

using std::chrono::microseconds;

struct RedisBackend::Renewing {
  HoldRef hold;
  Duration lease{};
  std::optional<Record> found;  // by a look-up, if the caller does not know its names
  std::optional<Duration> left;
  bool forgotten = false;  // the store may have lost it, or its last renewals

  [[nodiscard]] bool has_names() const { return hold.set != nullptr || found; }
  [[nodiscard]] std::span<const LockRequest> items() const {
    return hold.set != nullptr ? hold.set->items() : std::span<const LockRequest>(found->items);
  }
};

Result<RenewReply> RedisBackend::renew(const Owner& owner, std::span<const RenewRequest> requests,
                                       TimePoint by) {
  // Each stamp once; the longest requested lease counts.
  std::map<Stamp, Renewing> wanted;
  for (const RenewRequest& request : requests) {
    if (request.permanent) {
      return Error{Errc::unsupported, "Redis keeps no hold without a lease: set one"};
    }
    Renewing& one = wanted[request.hold.stamp];
    if (!one.hold.known()) one.hold = request.hold;
    one.lease = std::max(one.lease, request.lease);
  }
  // Holds that the caller did not take are looked up for their names.
  std::vector<Stamp> strange;
  for (const auto& [stamp, one] : wanted) {
    if (one.hold.set == nullptr) strange.push_back(stamp);
  }
  Result<std::vector<std::optional<Record>>> found = look_up(strange, by);
  if (!found) return found.error();
  for (std::size_t i = 0; i < strange.size(); ++i) {
    wanted[strange[i]].found = std::move((*found)[i]);
  }

  RenewReply reply;
  std::vector<Renewing> all;
  for (auto& [stamp, one] : wanted) {
    if (one.has_names()) all.push_back(std::move(one));
  }
  for (std::size_t done = 0; done < all.size() || reply.store_time_us == 0;) {
    std::size_t keys = 0;
    std::size_t end = done;
    while (end < all.size() && end - done < most_holds &&
           (end == done || keys + 2 * all[end].items().size() <= most_keys)) {
      keys += 2 * all[end++].items().size();
    }
    const Status status = renew_some(owner, std::span(all).subspan(done, end - done), reply, by);
    if (!status) return status.error();
    done = end;
  }
  std::map<Stamp, const Renewing*> answers;
  for (const Renewing& one : all) answers[one.hold.stamp] = &one;
  for (const RenewRequest& request : requests) {
    const auto of = answers.find(request.hold.stamp);
    const bool left = of != answers.end() && of->second->left;
    reply.renewals.push_back(left ? std::optional(Renewal{*of->second->left}) : std::nullopt);
    reply.forgotten.push_back(of != answers.end() && of->second->forgotten);
  }
  return reply;
}

Status RedisBackend::renew_some(const Owner& owner, std::span<Renewing> some, RenewReply& reply,
                                TimePoint by) {
  Call call;
  call.arguments = {packed(owner.app)};
  for (const Renewing& one : some) {
    call.arguments.push_back(std::to_string(one.hold.stamp.value));
    call.arguments.push_back(std::to_string(micros(one.lease)));
    call.arguments.push_back(modes_of(one.items()));
    for (const LockRequest& item : one.items()) {
      call.keys.push_back(store_->keys().name(item.name));
      call.keys.push_back(store_->keys().shared(item.name));
    }
  }
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
    } else {
      one.forgotten = left < 0 && in_quarantine && one.hold.known();
    }
  }
  return {};
}

Result<ReregisterOutcome> RedisBackend::reregister(const Owner& owner,
                                                   const ReregisterRequest& request, TimePoint by) {
  const HoldRef& hold = request.renewal.hold;
  if (request.renewal.permanent) {
    return Error{Errc::unsupported, "Redis keeps no hold without a lease: set one"};
  }
  const auto items = hold.set->items();
  // Stamps are usually the server's time.
  const std::int64_t since_us = hold.store_time_us != 0 ? hold.store_time_us : hold.stamp.value;
  Call call;
  add_keys(call, store_->keys(), items, false);
  call.arguments = {std::to_string(request.config_version),
                    std::to_string(hold.stamp.value),
                    std::to_string(micros(request.renewal.lease)),
                    packed(owner.app),
                    hold.token.hex(),
                    std::to_string(since_us) + ";" + pack(hold.token, *hold.owner, items),
                    modes_of(items)};
  for (const std::uint32_t permits : request.permits) {
    call.arguments.push_back(std::to_string(permits));
  }
  const Result<Reply> reply = store_->run(scripts::reregister, call, by, Lane::renewal);
  if (!reply) return reply.error();
  const std::string_view kind = (*reply)[0].text();
  if (kind == "W") return ReregisterOutcome(Renewal{microseconds((*reply)[1].number())});
  if (kind == "S") return ReregisterOutcome(Stale{});
  if (kind != "N") return store_->nonsense(scripts::reregister.name);
  return ReregisterOutcome(Gone{});
}

}  // namespace lockset::redis
