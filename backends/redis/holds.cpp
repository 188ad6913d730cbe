#include <utility>

#include "backends/answers.h"
#include "backends/redis/backend.h"
#include "backends/redis/record.h"

namespace lockset::redis {
namespace {

using std::chrono::microseconds;

constexpr std::size_t sweep_at_once = 200;
constexpr int sweep_rounds = 5;
// How many of the space's holds one step looks at: about 12 ms of the server's time.
constexpr std::size_t reclaim_page = 5000;
// About how many waiters a step looks at: HSCAN takes it for a hint.
constexpr std::size_t waiters_page = 2000;

}  // namespace

// --- looking up ---

Result<std::vector<std::optional<Record>>> RedisBackend::look_up(const std::vector<Stamp>& stamps,
                                                                 TimePoint by) {
  std::vector<std::optional<Record>> records;
  for (std::size_t done = 0; done < stamps.size(); done += most_holds) {
    Call call;
    const std::size_t end = std::min(stamps.size(), done + most_holds);
    for (std::size_t i = done; i < end; ++i) {
      call.arguments.push_back(std::to_string(stamps[i].value));
    }
    const Result<Reply> reply = store_->run(scripts::find, call, by);
    if (!reply) return reply.error();
    for (std::size_t i = 1; i <= end - done; ++i) records.push_back(unpack((*reply)[i].text()));
  }
  return records;
}

Result<std::optional<Grant>> RedisBackend::resolve(const HoldRef& attempt, TimePoint by) {
  std::optional<std::vector<LockRequest>> items;
  if (attempt.set != nullptr) {
    items.emplace(attempt.set->items().begin(), attempt.set->items().end());
  }
  // Twice if its names are not known: the first answer tells them.
  for (int i = 0; i < 2; ++i) {
    Call call;
    if (items) add_keys(call, store_->keys(), *items, false);
    call.arguments = {attempt.token.hex(), items ? modes_of(*items) : std::string()};
    const Result<Reply> reply = store_->run(scripts::resolve, call, by);
    if (!reply) return reply.error();
    if ((*reply)[0].text() == "N") return std::optional<Grant>();
    if ((*reply)[0].text() != "G") return store_->nonsense(scripts::resolve.name);
    if (!items) {
      std::optional<Record> record = unpack((*reply)[4].text());
      if (!record) return store_->nonsense(scripts::resolve.name);
      items = std::move(record->items);
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
    return std::optional<Grant>(std::move(grant));
  }
  return std::optional<Grant>();
}

// --- ending ---

Result<bool> RedisBackend::release(const HoldRef& hold, std::string_view app, TimePoint by) {
  return end_hold(hold, app, by);
}

Result<bool> RedisBackend::break_hold(const HoldRef& hold, TimePoint by) {
  return end_hold(hold, std::nullopt, by);
}

namespace {

// Whether the caller took the hold, and releases it for the application that it was taken for.
bool is_ours(const HoldRef& hold, std::optional<std::string_view> app) {
  return hold.known() && (!app || hold.owner->app == *app);
}

Call ending(const Keys& keys, const HoldRef& hold, std::span<const LockRequest> items,
            std::optional<std::string_view> app) {
  Call call;
  add_keys(call, keys, items, true);
  call.arguments = {std::to_string(hold.stamp.value), app ? packed(*app) : std::string(),
                    modes_of(items), app && is_ours(hold, app) ? "1" : "0"};
  return call;
}

}  // namespace

Result<bool> RedisBackend::end_hold(const HoldRef& hold, std::optional<std::string_view> app,
                                    TimePoint by) {
  std::span<const LockRequest> items;
  std::optional<Record> record;
  if (hold.set != nullptr) {
    items = hold.set->items();
  } else {
    Result<std::vector<std::optional<Record>>> found = look_up({hold.stamp}, by);
    if (!found) return found.error();
    record = std::move(found->front());
    if (!record) return false;
    items = record->items;
  }
  const Result<Reply> reply =
      store_->run(scripts::release, ending(store_->keys(), hold, items, app), by);
  if (!reply) return reply.error();
  return ended(*reply, is_ours(hold, app));
}

// Releases all holds whose names are known in one round trip. The others, and those without a usual
// answer, follow one by one.
Result<std::vector<bool>> RedisBackend::release_all(std::span<const HoldRef> holds,
                                                    std::string_view app, TimePoint by) {
  std::vector<std::optional<bool>> done(holds.size());
  std::vector<std::size_t> places;
  std::vector<Call> calls;
  for (std::size_t i = 0; i < holds.size(); ++i) {
    if (holds[i].set == nullptr) continue;
    calls.push_back(ending(store_->keys(), holds[i], holds[i].set->items(), app));
    places.push_back(i);
  }
  if (!calls.empty()) {
    const Result<std::vector<Reply>> replies = store_->run_all(scripts::release, calls, by);
    if (!replies) return replies.error();
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if ((*replies)[i].is_nil()) continue;
      const Result<bool> one = ended((*replies)[i], is_ours(holds[places[i]], app));
      if (one) done[places[i]] = *one;
    }
  }
  std::vector<bool> result;
  for (std::size_t i = 0; i < holds.size(); ++i) {
    if (!done[i]) {
      const Result<bool> one = end_hold(holds[i], app, by);
      if (!one) return one.error();
      done[i] = *one;
    }
    result.push_back(*done[i]);
  }
  return result;
}

// Reads the answer of a release or a break.
Result<bool> RedisBackend::ended(const Reply& reply, bool ours) {
  const std::string_view kind = reply[0].text();
  if (kind == "O") return store_->takes_an_operator();
  // The store lost the hold, and nobody has registered it again: only its holder knows that it was
  // live.
  if (kind == "U") return ours;
  return reply.number() == 1;
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
    // Without a record the names are not known: someone has changed the store by hand.
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
    call.arguments = {std::to_string(sweep_at_once), std::to_string(next_waiters_.load()),
                      std::to_string(waiters_page)};
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
    next_waiters_ = static_cast<std::uint64_t>((*reply)[3].number());
    if (ended.size() < sweep_at_once && next_waiters_ == 0) break;
  }
  return removed;
}

// From every line that they stand in: those names may never be released again.
Status RedisBackend::forget_waiters(const Reply& dead, TimePoint by) {
  Call call;
  const auto flush = [&]() -> Status {
    if (call.arguments.empty()) return {};
    const Result<Reply> reply = store_->run(scripts::end_wait, call, by);
    call = {};
    if (!reply) return reply.error();
    return {};
  };
  for (std::size_t i = 0; i + 1 < dead.size(); i += 2) {
    if (call.arguments.empty()) call.arguments = {"1"};
    call.arguments.insert(call.arguments.end(), {std::string(dead[i].text()), "0", std::string()});
    if (const auto items = items_of_waiter(dead[i + 1].text())) {
      for (const LockRequest& item : *items) call.keys.push_back(store_->keys().line(item.name));
      call.arguments.back() = modes_of(*items);
    }
    if (call.keys.size() < most_keys && call.arguments.size() < 3 * most_holds) continue;
    if (Status status = flush(); !status) return status;
  }
  return flush();
}

Result<std::size_t> RedisBackend::reclaim(std::string_view app, std::int64_t epoch, TimePoint by) {
  // If the time was up, the next call continues: nothing is granted to a lower epoch meanwhile.
  const std::lock_guard lock(reclaiming_mutex_);
  Reclaiming& now = reclaiming_;
  if (now.app != app || now.epoch != epoch) now = {std::string(app), epoch, "(0", {}, 0};
  for (std::size_t page = reclaim_page; !now.from.empty();) {
    Call call;
    call.keys = {store_->keys().epochs};
    call.arguments = {now.app,  packed(app),          std::to_string(epoch),
                      now.from, std::to_string(page), now.least};
    const Result<Reply> reply = store_->run(scripts::reclaim, call, by);
    if (!reply) return reply.error();
    const std::string_view kind = (*reply)[0].text();
    if (kind == "H") {
      now = {};
      return newer_epoch(app, (*reply)[1].text());
    }
    if (kind == "N") {
      now = {};
      return no_live_epoch(app, epoch);
    }
    now.count += static_cast<std::size_t>((*reply)[1].number());
    now.least = (*reply)[4].text();
    const Reply list = (*reply)[2];
    std::vector<Ended> ended;
    for (std::size_t i = 0; i + 1 < list.size(); i += 2) {
      ended.push_back({std::string(list[i].text()), std::string(list[i + 1].text())});
    }
    // The holds have ended; this only tidies up, and the sweep does the rest.
    static_cast<void>(remove(ended, by).ok());
    // The last one of a page is read again, because other holds may end at the same microsecond. If
    // all of a page do, the next page has to be larger.
    const std::string next((*reply)[3].text());
    page = next == now.from ? page * 4 : reclaim_page;
    now.from = next;
  }
  return std::exchange(now, {}).count;
}

}  // namespace lockset::redis
