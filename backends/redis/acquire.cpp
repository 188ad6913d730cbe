#include <chrono>
#include <condition_variable>
#include <ctime>
#include <mutex>

#include "backends/answers.h"
#include "backends/redis/backend.h"
#include "backends/redis/record.h"
#include "core/time_math.h"

namespace lockset::redis {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// How often a waiter looks if no connection hears wake-ups.
constexpr milliseconds deaf_poll{500};
// How long, at most, a waiting attempt stays to have that connection made.
constexpr milliseconds listen_within{1000};
// A string's own end only tidies up, so it comes a minute after the lease's.
std::int64_t string_lease_ms(Duration lease) {
  return std::chrono::ceil<milliseconds>(lease).count() + 60'000;
}
// Lua counts in doubles, which are exact up to this.
constexpr std::int64_t most_exact = std::int64_t{1} << 53;

std::string time_of_day(std::int64_t since_us) {
  const std::time_t seconds = since_us / 1'000'000;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[64];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts)};
}

}  // namespace

void add_keys(Call& call, const Keys& keys, std::span<const LockRequest> items, bool lines) {
  call.keys.reserve(call.keys.size() + items.size() * 3);
  for (const LockRequest& item : items) call.keys.push_back(keys.name(item.name));
  for (const LockRequest& item : items) call.keys.push_back(keys.shared(item.name));
  if (!lines) return;
  for (const LockRequest& item : items) call.keys.push_back(keys.line(item.name));
}

// --- waiting ---

class RedisBackend::Ticket : public WaitTicket {
 public:
  std::shared_ptr<server::Listener::Subscription> subscription;
  std::vector<LockRequest> items;
  std::int64_t since = 0;     // when it arrived, by the server's time; 0: not in line
  std::uint64_t seen = 0;     // wake-ups that had arrived before the last attempt
  std::uint64_t session = 0;  // of the listener, at that time
};

Status RedisBackend::await_change(WaitTicket& ticket, TimePoint until, std::stop_token stop) {
  auto* mine = dynamic_cast<Ticket*>(&ticket);
  if (mine == nullptr) return foreign_ticket();
  if (mine->session == 0) until = std::min(until, BootClock::now() + deaf_poll);
  mine->subscription->sleep(mine->seen, mine->session, until, std::move(stop));
  return {};
}

bool RedisBackend::has_changed(WaitTicket& ticket, TimePoint since) {
  const auto* mine = dynamic_cast<const Ticket*>(&ticket);
  if (mine == nullptr) return false;
  if (mine->session == 0 && BootClock::now() >= later(since, deaf_poll)) return true;
  return mine->subscription->is_over(mine->seen, mine->session);
}

void RedisBackend::end_wait(WaitTicket& ticket, TimePoint by) {
  const auto* mine = dynamic_cast<const Ticket*>(&ticket);
  if (mine == nullptr || mine->since == 0) return;
  Call call;
  for (const LockRequest& item : mine->items) call.keys.push_back(store_->keys().line(item.name));
  const bool woken = mine->subscription->wakes() != mine->seen;
  call.arguments = {"0", waiter_name(listener_, *mine->subscription), woken ? "1" : "0",
                    modes_of(mine->items)};
  // Its place expires by itself if this fails.
  static_cast<void>(store_->run(scripts::end_wait, call, by).ok());
}

// --- the set ---

RedisBackend::RedisBackend(std::unique_ptr<Store> store)
    : store_(std::move(store)), listener_(subscribing(*store_)) {}

Traits RedisBackend::traits() const {
  Traits traits;
  traits.push_wakeup = true;
  traits.queued_wakeup = true;
  traits.bounded_overtaking = true;
  traits.lists_waiters = true;
  traits.holds_outlive_process = true;
  traits.shared_between_processes = true;
  traits.floors = true;
  traits.observing = true;
  traits.converting = true;
  // A script stalls all clients while it runs.
  traits.renew_chunk = 250;
  return traits;
}

Error RedisBackend::quarantine(const Reply& reply, std::string_view what) const {
  const Duration left = microseconds(reply[1].number());
  return in_quarantine(store_->options().shown(), time_of_day(reply[2].number()), what, left);
}

Error RedisBackend::stamps_used_up() const {
  return Error{Errc::misconfigured,
               store_->options().shown() +
                   ": the stamps are used up (2^53, beyond which Redis does not count exactly): "
                   "somebody has raised their base too far; take another space"};
}

AcquireOutcome RedisBackend::granted(const Reply& reply, const AcquireRequest& request) {
  Grant grant;
  if (reply.is_array()) {
    grant.stamp = Stamp{reply[1].number()};
    grant.lease = microseconds(reply[2].number());
    grant.store_time_us = reply[3].number();
  } else {
    grant.store_time_us = reply.number();
    grant.stamp = Stamp{grant.store_time_us};
    grant.lease = microseconds(micros(request.lease));
  }
  for (std::size_t i = 4; i < reply.size(); ++i) grant.floors.push_back({reply[i].number()});
  if (grant.floors.empty()) grant.floors.assign(request.set->size(), grant.stamp);
  store_->memory().saw(grant.stamp);
  return grant;
}

AcquireOutcome RedisBackend::busy(const Reply& reply, const AcquireRequest& request,
                                  std::shared_ptr<Ticket> ticket) const {
  Busy busy;
  const auto items = request.set->items();
  const auto item = static_cast<std::size_t>(reply[1].number() - 1);
  if (item < items.size()) busy.name = items[item].name;
  busy.mode = reply[2].text() == "r" ? Mode::read : Mode::write;
  busy.holder = Stamp{reply[3].number()};
  busy.retry_after = microseconds(std::max<std::int64_t>(0, reply[4].number()));
  if (const auto record = unpack(reply[6].text())) busy.holder_label = record->owner.label;
  if (!busy.holder) busy.holder_label = "the queue, for " + busy.holder_label;
  if (ticket) ticket->since = reply[5].number();
  busy.ticket = std::move(ticket);
  return busy;
}

Result<AcquireOutcome> RedisBackend::attempt(const AcquireRequest& request,
                                             const std::shared_ptr<Ticket>& ticket) {
  // Both are read before the attempt is sent: whatever arrives later is for the wait after it.
  const std::uint64_t session = listener_.session();
  const std::uint64_t seen = ticket ? ticket->subscription->wakes() : 0;
  const auto items = request.set->items();
  Call call;
  add_keys(call, store_->keys(), items, true);
  const Marks marks = store_->memory().marks();
  call.marks = marks;
  const std::int64_t since = ticket ? ticket->since : 0;
  const bool usual = request.config_version == marks.version &&
                     request.min_stamp.value <= marks.stamp && since == 0 &&
                     request.unchanged_since.empty() && request.replaces == nullptr;
  std::string details = usual ? "1 " : "0 ";
  for (const std::int64_t number : {request.config_version, request.min_stamp.value, since}) {
    details += std::to_string(number);
    details += ' ';
  }
  details += ticket && ticket->seen != seen ? "1 " : "0 ";
  details += std::to_string(request.max_overtakes);
  details += ' ';
  for (const std::uint32_t permits : request.permits) {
    details += std::to_string(permits);
    details += ',';
  }
  details += ' ';
  if (ticket) details += waiter_name(listener_, *ticket->subscription);
  call.arguments.reserve(6);
  call.arguments.push_back(std::to_string(micros(request.lease)));
  call.arguments.push_back(std::to_string(string_lease_ms(request.lease)));
  call.arguments.push_back("t:" + request.token.hex());
  call.arguments.push_back(pack(request.token, *request.owner, items));
  call.arguments.push_back(modes_of(items));
  call.arguments.push_back(std::move(details));
  if (!request.unchanged_since.empty()) call.arguments.emplace_back();
  for (const Expected& each : request.unchanged_since) {
    call.arguments.back() +=
        std::to_string(each.item + 1) + " " + std::to_string(each.last_write.value) + " ";
  }
  if (request.replaces != nullptr) {
    call.arguments.emplace_back();
    call.arguments.push_back(std::to_string(request.replaces->stamp.value));
  }
  const Result<Reply> reply = store_->run(scripts::acquire, call, request.by);
  if (!reply) return reply.error();
  const std::string_view kind = (*reply)[0].text();
  if (reply->is_array() && kind == "A") return attempt(request, ticket);
  if (!reply->is_array() || kind == "G") return granted(*reply, request);
  if (kind == "B") {
    if (ticket) {
      ticket->session = session;
      ticket->seen = seen;
    }
    return busy(*reply, request, ticket);
  }
  if (kind == "C") {
    if (ticket) ticket->since = 0;
    return AcquireOutcome(
        Changed{static_cast<std::size_t>((*reply)[1].number() - 1), trace_from(*reply, 2)});
  }
  if (kind == "Q") return quarantine(*reply, "no new grants");
  if (kind == "U") return stamps_used_up();
  if (kind == "S") return AcquireOutcome(Stale{});
  if (kind == "N") return AcquireOutcome(Gone{});
  return store_->nonsense(scripts::acquire.name);
}

Result<AcquireOutcome> RedisBackend::try_acquire(const AcquireRequest& request) {
  if (request.min_stamp.value >= most_exact) {
    return Error{Errc::invalid, "a stamp of " + std::to_string(request.min_stamp.value) +
                                    " or more is beyond what Redis counts exactly (2^53)"};
  }
  std::shared_ptr<Ticket> ticket;
  if (request.will_wait) {
    ticket = std::dynamic_pointer_cast<Ticket>(request.ticket);
    if (!ticket) {
      ticket = std::make_shared<Ticket>();
      ticket->subscription = listener_.subscribe();
      ticket->items.assign(request.set->items().begin(), request.set->items().end());
    }
  }
  Result<AcquireOutcome> outcome = attempt(request, ticket);
  // The first to wait: once the listener is connected it looks again, because it did not hear what
  // was sent before.
  if (outcome && ticket && std::holds_alternative<Busy>(*outcome) && ticket->session == 0 &&
      listener_.start(std::min(request.by, BootClock::now() + listen_within))) {
    return attempt(request, ticket);
  }
  return outcome;
}

}  // namespace lockset::redis
