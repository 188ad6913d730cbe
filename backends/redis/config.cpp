#include <algorithm>
#include <map>

#include "backends/redis/backend.h"
#include "backends/redis/record.h"

namespace lockset::redis {
namespace {

using std::chrono::microseconds;

// Up to this many holds, an inspection is one step, and so shows one moment. More are read in
// several steps, so that other clients are not stalled.
constexpr std::size_t page = 10'000;

// The clock reaches it in the year 2255, and 7 * 10^12 stamps are left above it.
constexpr std::int64_t most_base = 9'000'000'000'000'000;

std::chrono::system_clock::time_point wall_time(std::int64_t since_us) {
  return std::chrono::system_clock::time_point(
      std::chrono::duration_cast<std::chrono::system_clock::duration>(microseconds(since_us)));
}

std::vector<WaiterInfo> waiters_from(const Reply& reply, std::int64_t now_us) {
  std::map<std::pair<std::int64_t, std::string>, WaiterInfo> waiters;
  for (std::size_t i = 0; i + 1 < reply.size(); i += 2) {
    const std::string_view text = reply[i + 1].text();
    const auto record = unpack_waiter(text);
    if (!record || std::stoll(std::string(text.substr(0, 16))) <= now_us) continue;
    waiters[{record->since_us, std::string(reply[i].text())}] = {record->items, record->owner,
                                                                 wall_time(record->since_us)};
  }
  std::vector<WaiterInfo> all;
  all.reserve(waiters.size());
  for (auto& [order, waiter] : waiters) all.push_back(std::move(waiter));
  return all;
}

}  // namespace

Result<Inspection> RedisBackend::inspect(const InspectQuery& query, TimePoint by) {
  const bool by_name = query.match == InspectQuery::Match::name;
  Inspection inspection;
  std::map<Stamp, HoldInfo> holds;
  std::string from;
  for (bool more = true; more;) {
    Call call;
    if (by_name) {
      call.keys = {store_->keys().name(query.text), store_->keys().shared(query.text),
                   store_->keys().line(query.text)};
    } else {
      call.arguments = {from, std::to_string(page)};
    }
    const Script& script = by_name ? scripts::inspect_name : scripts::inspect;
    const Result<Reply> reply = store_->run(script, call, by);
    if (!reply) return reply.error();
    if ((*reply)[0].text() != "I") return store_->nonsense(script.name);
    const std::int64_t now_us = (*reply)[1].number();
    inspection.server = store_->server();
    inspection.quarantine.reset();
    if (const std::int64_t left = (*reply)[2].number(); left > 0) {
      inspection.quarantine = microseconds(left);
    }
    inspection.waiters = waiters_from((*reply)[3], now_us);
    const Reply list = (*reply)[4];
    for (std::size_t i = 0; i + 2 < list.size(); i += 3) {
      from = list[i + 1].text();
      const std::int64_t ends_us = list[i + 1].number();
      auto record = unpack(list[i + 2].text());
      if (!record || ends_us <= now_us) continue;
      const Stamp stamp{list[i].number()};
      holds[stamp] = HoldInfo{stamp, std::move(record->items), std::move(record->owner),
                              wall_time(record->since_us), microseconds(ends_us - now_us)};
    }
    // The last one is read again, because other holds may end at the same microsecond.
    more = !by_name && list.size() / 3 == page;
  }
  for (auto& [stamp, hold] : holds) {
    if (query.matches(hold.items)) inspection.holds.push_back(std::move(hold));
  }
  std::erase_if(inspection.waiters,
                [&](const WaiterInfo& waiter) { return !query.matches(waiter.items); });
  return inspection;
}

Result<SpaceConfig> RedisBackend::load_config(TimePoint by) { return store_->load_config(by); }

Result<SpaceConfig> RedisBackend::change_config(const ConfigChange& change, TimePoint by) {
  Call call;
  call.keys = {store_->keys().epochs, store_->keys().kept};
  if (const auto* permits = std::get_if<SetPermits>(&change)) {
    call.arguments = {"permits", (permits->mode == Mode::read ? "r:" : "w:") + permits->name,
                      permits->permits ? std::to_string(*permits->permits) : std::string()};
  } else if (const auto* lease = std::get_if<SetMaxLease>(&change)) {
    call.arguments = {"max_lease", std::to_string(micros(lease->max_lease))};
  } else if (const auto* overtakes = std::get_if<SetMaxOvertakes>(&change)) {
    call.arguments = {"overtakes", std::to_string(overtakes->max_overtakes)};
  } else if (const auto* phase = std::get_if<SetMigrationPhase>(&change)) {
    call.arguments = {
        "phase", std::to_string(phase->phase),
        phase->only_at_version ? std::to_string(*phase->only_at_version) : std::string()};
  } else if (const auto* base = std::get_if<RaiseStampBase>(&change)) {
    // Lua counts in doubles, which are exact up to 2^53; there must be room for stamps below that.
    if (base->at_least.value > most_base) {
      return Error{Errc::invalid, "a stamp base above " + std::to_string(most_base) +
                                      " leaves Redis too few stamps: it counts exactly up to 2^53"};
    }
    call.arguments = {"base", std::to_string(base->at_least.value)};
  }
  const Result<Reply> reply = store_->run(scripts::change, call, by);
  if (!reply) return reply.error();
  if ((*reply)[0].text() == "O") return store_->takes_an_operator();
  if ((*reply)[0].text() != "C") return store_->nonsense(scripts::change.name);
  return store_->config_from(*reply);
}

}  // namespace lockset::redis
