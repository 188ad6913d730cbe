// Observes names, and sweeps the traces of those that nobody observes any more.
#include "backends/redis/backend.h"

namespace lockset::redis {
namespace {

// One sweep removes about so many at most, and looks at about so many fields of the space at once.
constexpr std::size_t removed_at_once = 500;
constexpr std::size_t fields_page = 1000;
constexpr int trace_rounds = 50;

}  // namespace

Trace trace_from(const Reply& reply, std::size_t at) {
  Trace trace{Stamp{reply[at].number()}, std::string(reply[at + 2].text()), {}};
  if (!reply[at + 1].text().empty()) trace.age_us = reply[at + 1].number();
  trace.being_written = reply[at + 3].number() == 1;
  return trace;
}

Result<ObserveOutcome> RedisBackend::observe(const ObserveRequest& request) {
  Call call;
  std::vector<LockRequest> items;
  for (const std::string& name : request.names) items.push_back({name, Mode::write});
  add_keys(call, store_->keys(), items, true);
  call.arguments = {std::to_string(request.config_version), std::to_string(micros(trace_grain))};
  while (true) {
    const Result<Reply> reply = store_->run(scripts::observe, call, request.by);
    if (!reply) return reply.error();
    const std::string_view kind = (*reply)[0].text();
    if (kind == "A") continue;
    if (kind == "S") return ObserveOutcome(Stale{});
    if (kind == "Q") return quarantine(*reply, "nothing is granted or observed");
    if (kind == "U") return stamps_used_up();
    if (kind != "T" || reply->size() != 2 + 4 * items.size()) {
      return store_->nonsense(scripts::observe.name);
    }
    store_->memory().saw(Stamp{(*reply)[1].number()});
    std::vector<Trace> traces;
    for (std::size_t at = 2; at < reply->size(); at += 4) traces.push_back(trace_from(*reply, at));
    return ObserveOutcome(std::move(traces));
  }
}

Result<std::size_t> RedisBackend::sweep_traces(Duration unobserved, TimePoint by) {
  std::size_t removed = 0;
  for (int round = 0; round < trace_rounds && removed < removed_at_once; ++round) {
    Call call;
    call.arguments = {std::to_string(micros(unobserved)), std::to_string(next_traces_.load()),
                      std::to_string(fields_page)};
    const Result<Reply> found = store_->run(scripts::unobserved, call, by);
    if (!found) return found.error();
    for (std::size_t i = 2; i < found->size();) {
      call.keys.clear();
      while (i < found->size() && call.keys.size() < most_keys) {
        call.keys.push_back(store_->keys().shared((*found)[i++].text()));
      }
      call.arguments = {std::to_string(micros(unobserved))};
      const Result<Reply> reply = store_->run(scripts::forget, call, by);
      if (!reply) return reply.error();
      removed += static_cast<std::size_t>((*reply)[1].number());
    }
    next_traces_ = static_cast<std::uint64_t>((*found)[1].number());
    if (next_traces_ == 0) break;
  }
  return removed;
}

}  // namespace lockset::redis
