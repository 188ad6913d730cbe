#include "backends/redis/record.h"
#include "backends/redis/redis_backend.h"

namespace lockset::redis {
namespace {

using std::chrono::microseconds;

constexpr std::size_t sweep_at_once = 200;
constexpr int sweep_rounds = 5;

std::shared_ptr<const KnownHold> known_from(std::string_view record) {
  std::optional<Record> read = unpack(record);
  if (!read) return nullptr;
  auto hold = std::make_shared<KnownHold>();
  hold->items = std::move(read->items);
  hold->owner = std::move(read->owner);
  hold->since_us = read->since_us;
  for (std::size_t i = 0; i < hold->token.bytes.size(); ++i) {
    hold->token.bytes[i] =
        static_cast<std::uint8_t>(std::stoul(read->token.substr(2 * i, 2), nullptr, 16));
  }
  return hold;
}

}  // namespace

// --- looking up ---

Result<std::vector<std::shared_ptr<const KnownHold>>> RedisBackend::look_up(
    const std::vector<Stamp>& stamps, TimePoint by) {
  std::vector<std::shared_ptr<const KnownHold>> holds;
  for (std::size_t done = 0; done < stamps.size(); done += most_holds) {
    Call call;
    const std::size_t end = std::min(stamps.size(), done + most_holds);
    for (std::size_t i = done; i < end; ++i) {
      call.arguments.push_back(std::to_string(stamps[i].value));
    }
    const Result<Reply> reply = store_->run(scripts::find, call, by);
    if (!reply) return reply.error();
    for (std::size_t i = 1; i <= end - done; ++i) holds.push_back(known_from((*reply)[i].text()));
  }
  return holds;
}

Result<std::optional<Grant>> RedisBackend::resolve(const Token& token, TimePoint by) {
  std::shared_ptr<const KnownHold> hold = known_.find(token);
  // Twice, where its names are not known: the first answer tells them.
  for (int i = 0; i < 2; ++i) {
    Call call;
    if (hold) add_keys(call, store_->keys(), hold->items, false);
    call.arguments = {token.hex(), hold ? modes_of(hold->items) : std::string()};
    const TimePoint sent = BootClock::now();
    const Result<Reply> reply = store_->run(scripts::resolve, call, by);
    if (!reply) return reply.error();
    if ((*reply)[0].text() == "N") return std::optional<Grant>();
    if ((*reply)[0].text() != "G") return store_->nonsense(scripts::resolve.name);
    if (!hold) {
      hold = known_from((*reply)[4].text());
      if (!hold) return store_->nonsense(scripts::resolve.name);
      continue;
    }
    Grant grant;
    grant.stamp = Stamp{(*reply)[1].number()};
    grant.lease = microseconds((*reply)[2].number());
    grant.store_time_us = (*reply)[3].number();
    for (std::size_t f = 5; f < reply->size(); ++f) {
      grant.floors.push_back({(*reply)[f].number()});
    }
    store_->memory().saw(grant.stamp);
    if (auto full = known_from((*reply)[4].text())) {
      known_.add(grant.stamp, std::move(full), sent + grant.lease);
    }
    return std::optional<Grant>(std::move(grant));
  }
  return std::optional<Grant>();
}

// --- ending ---

Result<bool> RedisBackend::release(Stamp stamp, std::string_view app, TimePoint by) {
  return end_hold(stamp, app, by);
}

Result<bool> RedisBackend::break_hold(Stamp stamp, TimePoint by) {
  return end_hold(stamp, std::nullopt, by);
}

Result<bool> RedisBackend::end_hold(Stamp stamp, std::optional<std::string_view> app,
                                    TimePoint by) {
  std::shared_ptr<const KnownHold> hold = known_.find(stamp);
  if (!hold) {
    const auto found = look_up({stamp}, by);
    if (!found) return found.error();
    hold = found->front();
    if (!hold) return false;
  }
  Call call;
  add_keys(call, store_->keys(), hold->items, true);
  call.arguments = {std::to_string(stamp.value), app ? packed(*app) : std::string(),
                    modes_of(hold->items)};
  const Result<Reply> reply = store_->run(scripts::release, call, by);
  if (!reply) return reply.error();
  const std::string_view kind = (*reply)[0].text();
  if (kind == "O") return store_->takes_an_operator();
  // Another application's stays known.
  const bool ours = !app || hold->owner.app == *app;
  const bool was_live = ours && known_.remove(stamp);
  // Lost by the store and not registered again so far: we alone know of it.
  if (kind == "U") return was_live;
  return reply->number() == 1;
}

Result<std::size_t> RedisBackend::remove(const std::vector<Ended>& ended, TimePoint by) {
  std::size_t removed = 0;
  Call call;
  const auto flush = [&]() -> Status {
    if (call.arguments.empty()) return {};
    const Result<Reply> reply = store_->run(scripts::remove, call, by);
    call = {};
    if (!reply) return reply.error();
    removed += static_cast<std::size_t>((*reply)[1].number());
    return {};
  };
  for (const Ended& one : ended) {
    const std::optional<Record> record = unpack(one.record);
    // Without a record there are no names: somebody has meddled.
    const std::vector<LockRequest> items = record ? record->items : std::vector<LockRequest>();
    call.arguments.push_back(one.stamp);
    call.arguments.push_back(record ? record->token : std::string());
    call.arguments.push_back(modes_of(items));
    for (const LockRequest& item : items) {
      call.keys.push_back(store_->keys().name(item.name));
      call.keys.push_back(store_->keys().shared(item.name));
      call.keys.push_back(store_->keys().line(item.name));
    }
    if (call.keys.size() < most_keys) continue;
    if (Status status = flush(); !status) return status.error();
  }
  if (Status status = flush(); !status) return status.error();
  return removed;
}

Result<std::size_t> RedisBackend::sweep(TimePoint by) {
  std::size_t removed = 0;
  for (int round = 0; round < sweep_rounds; ++round) {
    Call call;
    call.arguments = {std::to_string(sweep_at_once)};
    const Result<Reply> reply = store_->run(scripts::expired, call, by);
    if (!reply) return reply.error();
    const Reply holds = (*reply)[1];
    std::vector<Ended> ended;
    for (std::size_t i = 0; i + 1 < holds.size(); i += 2) {
      ended.push_back({std::string(holds[i].text()), std::string(holds[i + 1].text())});
    }
    const Result<std::size_t> count = remove(ended, by);
    if (!count) return count.error();
    removed += *count;
    if (Status status = forget_waiters((*reply)[2], by); !status) return status.error();
    if (ended.size() < sweep_at_once) break;
  }
  return removed;
}

// In every line they stand in; nobody may ever release those names again.
Status RedisBackend::forget_waiters(const Reply& dead, TimePoint by) {
  for (std::size_t i = 0; i + 1 < dead.size(); i += 2) {
    Call call;
    call.arguments = {std::string(dead[i].text()), "0", std::string(), "1"};
    if (const auto items = items_of_waiter(dead[i + 1].text())) {
      for (const LockRequest& item : *items) call.keys.push_back(store_->keys().line(item.name));
      call.arguments[2] = modes_of(*items);
    }
    const Result<Reply> reply = store_->run(scripts::end_wait, call, by);
    if (!reply) return reply.error();
  }
  return {};
}

Result<std::size_t> RedisBackend::reclaim(std::string_view app, std::int64_t epoch, TimePoint by) {
  Call call;
  call.keys = {store_->keys().epochs};
  call.arguments = {std::string(app), packed(app), std::to_string(epoch)};
  const Result<Reply> reply = store_->run(scripts::reclaim, call, by);
  if (!reply) return reply.error();
  const std::string_view kind = (*reply)[0].text();
  if (kind == "H") {
    return Error{Errc::superseded, "a newer instance of application " + in_quotes(app) +
                                       " has begun the epoch " + std::string((*reply)[1].text())};
  }
  if (kind == "N") {
    return Error{Errc::not_held, "the hold " + std::to_string(epoch) + " of application " +
                                     in_quotes(app) + " is not live: its epoch can't begin"};
  }
  const Reply list = (*reply)[2];
  std::vector<Ended> ended;
  for (std::size_t i = 0; i + 1 < list.size(); i += 2) {
    ended.push_back({std::string(list[i].text()), std::string(list[i + 1].text())});
  }
  // They have ended; this only tidies up, and the sweep does what is left of it.
  static_cast<void>(remove(ended, by).ok());
  return static_cast<std::size_t>((*reply)[1].number());
}

}  // namespace lockset::redis
