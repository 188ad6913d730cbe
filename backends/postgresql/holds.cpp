// Renews, releases, breaks, sweeps and lists holds.
#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <utility>

#include "backends/answers.h"
#include "backends/postgresql/backend.h"

namespace lockset::postgresql {
namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;

// How long after it was sent a registration may still be applied. A statement ends within a minute
// (statement_timeout), and so does a connection's last one after its client has given it up.
constexpr std::chrono::minutes late_registrations{10};

std::chrono::system_clock::time_point wall_time(std::int64_t since_us) {
  return std::chrono::system_clock::time_point(
      duration_cast<std::chrono::system_clock::duration>(microseconds(since_us)));
}

Inspection inspection_from(const pqxx::result& rows) {
  Inspection all;
  std::string last_kind;
  std::int64_t last_id = 0;
  // A single row without a hold or waiter if there is none.
  const std::int64_t left = rows[0][10].as<std::int64_t>();
  if (left > 0) all.quarantine = microseconds(left);
  for (const auto& row : rows) {
    if (row[0].is_null()) break;
    const std::string kind = row[0].as<std::string>();
    const std::int64_t id = row[1].as<std::int64_t>();
    const bool first = kind != last_kind || id != last_id;
    last_kind = kind, last_id = id;
    const LockRequest item{row[8].as<std::string>(), mode_from(row[9].as<std::string>())};
    if (!first) {
      (kind == "h" ? all.holds.back().items : all.waiters.back().items).push_back(item);
      continue;
    }
    Owner owner{row[2].as<std::string>(), row[3].as<std::string>(), row[4].as<std::int64_t>(),
                row[5].as<std::string>()};
    const auto since = wall_time(row[6].as<std::int64_t>());
    if (kind == "h") {
      HoldInfo info{Stamp{id}, {item}, std::move(owner), since, {}};
      if (!row[7].is_null()) info.remaining = microseconds(row[7].as<std::int64_t>());
      all.holds.push_back(std::move(info));
    } else {
      all.waiters.push_back({{item}, std::move(owner), since});
    }
  }
  return all;
}

}  // namespace

Result<RenewReply> PostgresqlBackend::renew(const Owner& owner,
                                            std::span<const RenewRequest> requests, TimePoint by) {
  // Each stamp once and in order, so that two calls never wait for each other.
  std::map<Stamp, std::int64_t> wanted;
  for (const RenewRequest& request : requests) {
    const std::int64_t lease = request.permanent ? -1 : micros(request.lease);
    const auto [entry, fresh] = wanted.try_emplace(request.hold.stamp, lease);
    if (!fresh && entry->second >= 0)
      entry->second = lease < 0 ? -1 : std::max(entry->second, lease);
  }
  std::vector<std::int64_t> stamps;
  std::vector<std::int64_t> leases;
  for (const auto& [stamp, lease] : wanted) {
    stamps.push_back(stamp.value);
    leases.push_back(lease);
  }
  CallFailure failure;
  std::uint32_t collisions = 0;
  const Result<pqxx::result> rows =
      store_->call(Lane::renewal, renew_, by, failure, collisions, owner.app,
                   array_of_numbers(stamps), array_of_numbers(leases));
  if (!rows) return rows.error();
  RenewReply reply;
  bool in_quarantine = false;
  std::map<std::int64_t, Renewal> renewed;
  for (const auto& row : *rows) {
    if (row[0].is_null()) {
      reply.store_time_us = row[2].as<std::int64_t>();
      in_quarantine = row[1].as<std::int64_t>() > 0;
    } else {
      renewed[row[0].as<std::int64_t>()] = Renewal{duration_from(row[1].as<std::int64_t>())};
    }
  }
  for (const RenewRequest& request : requests) {
    const auto found = renewed.find(request.hold.stamp.value);
    reply.renewals.push_back(found == renewed.end() ? std::nullopt
                                                    : std::optional<Renewal>(found->second));
    reply.forgotten.push_back(in_quarantine && found == renewed.end() && request.hold.known());
  }
  return reply;
}

Result<ReregisterOutcome> PostgresqlBackend::reregister(const Owner& owner,
                                                        const ReregisterRequest& request,
                                                        TimePoint by) {
  const HoldRef& hold = request.renewal.hold;
  const auto items = hold.set->items();
  // Stamps are usually the server's time.
  const std::int64_t since_us = hold.store_time_us != 0 ? hold.store_time_us : hold.stamp.value;
  const std::int64_t lease = request.renewal.permanent ? -1 : micros(request.renewal.lease);
  notes_until_ = BootClock::now() + late_registrations;
  CallFailure failure;
  std::uint32_t collisions = 0;
  const Result<pqxx::result> result =
      store_->call(Lane::renewal, reregister_, by, failure, collisions, array_of_names(items),
                   array_of_modes(items), array_of_numbers(request.permits), request.config_version,
                   lease, hold.stamp.value, hold.token.hex(), owner.app, hold.owner->instance,
                   hold.owner->epoch, hold.owner->label, since_us);
  if (!result) return result.error();
  const std::string answer = (*result)[0][0].as<std::string>();
  if (answer == "S") return ReregisterOutcome(Stale{});
  if (answer == "N") return ReregisterOutcome(Gone{});
  if (!answer.starts_with("W\x1F")) return nonsense("a registration");
  return ReregisterOutcome(Renewal{duration_from(std::stoll(answer.substr(2)))});
}

Result<bool> PostgresqlBackend::release(const HoldRef& hold, std::string_view app, TimePoint by) {
  return end_hold(release_, by, hold.stamp.value, std::string(app), hold.known(), notes_ends());
}

// One statement, one commit: all holds end or none.
Result<std::vector<bool>> PostgresqlBackend::release_all(std::span<const HoldRef> holds,
                                                         std::string_view app, TimePoint by) {
  // As in renew: each stamp once and in order.
  std::set<std::int64_t> wanted;
  bool mine = true;
  for (const HoldRef& hold : holds) {
    wanted.insert(hold.stamp.value);
    mine = mine && hold.known();
  }
  CallFailure failure;
  std::uint32_t collisions = 0;
  const Result<pqxx::result> rows =
      store_->call(Lane::common, release_all_, by, failure, collisions,
                   array_of_numbers(std::vector<std::int64_t>(wanted.begin(), wanted.end())),
                   std::string(app), mine, notes_ends());
  if (!rows) return rows.error();
  std::set<std::int64_t> ended_here;
  for (const auto& row : *rows) {
    if (std::string_view(row[1].c_str()) == "R") ended_here.insert(row[0].as<std::int64_t>());
  }
  std::vector<bool> ended;
  for (const HoldRef& hold : holds) ended.push_back(ended_here.erase(hold.stamp.value) == 1);
  return ended;
}

Result<bool> PostgresqlBackend::break_hold(const HoldRef& hold, TimePoint by) {
  return end_hold(break_, by, hold.stamp.value);
}

template <class... Args>
Result<bool> PostgresqlBackend::end_hold(const Statement& statement, TimePoint by,
                                         const Args&... args) {
  CallFailure failure;
  std::uint32_t collisions = 0;
  const Result<pqxx::result> result =
      store_->call(Lane::common, statement, by, failure, collisions, args...);
  if (!result) return result.error();
  return std::string_view((*result)[0][0].c_str()) == "R";
}

Result<std::size_t> PostgresqlBackend::sweep(TimePoint by) {
  const std::lock_guard lock(sweep_mutex_);
  std::size_t removed = 0;
  // Goes to the end, and once more from the start if it did not begin there: so a call that finds
  // nothing has looked at everything, unless there is more than one call's worth.
  bool from_the_start = sweep_from_ == 0;
  for (;;) {
    CallFailure failure;
    std::uint32_t collisions = 0;
    const Result<pqxx::result> rows =
        store_->call(Lane::common, sweep_, by, failure, collisions, sweep_from_, sweep_from_name_);
    if (!rows) return rows.error();
    const pqxx::row row((*rows)[0]);
    removed += row[0].as<std::size_t>();
    sweep_from_ = row[1].as<std::int64_t>();
    sweep_from_name_ = row[2].as<std::string>("");
    if (from_the_start || sweep_from_ != 0) return removed;
    from_the_start = true;
  }
}

Result<Inspection> PostgresqlBackend::inspect(const InspectQuery& query, TimePoint by) {
  const char* match = "a";
  if (query.match == InspectQuery::Match::name) match = "n";
  if (query.match == InspectQuery::Match::prefix) match = "p";
  CallFailure failure;
  std::uint32_t collisions = 0;
  const Result<pqxx::result> rows =
      store_->call(Lane::common, inspect_, by, failure, collisions, match, query.text);
  if (!rows) return rows.error();
  return inspection_from(*rows);
}

Result<std::size_t> PostgresqlBackend::reclaim(std::string_view app, std::int64_t epoch,
                                               TimePoint by) {
  CallFailure failure;
  std::uint32_t collisions = 0;
  const std::string name(app);
  const Result<pqxx::result> result =
      store_->call(Lane::common, reclaim_, by, failure, collisions, name, epoch);
  if (!result) return result.error();
  const std::string answer = (*result)[0][0].as<std::string>();
  if (answer.starts_with('H')) {
    return newer_epoch(app, answer.substr(1));
  }
  if (answer == "N") {
    return no_live_epoch(app, epoch);
  }
  return static_cast<std::size_t>(std::stoull(answer));
}

}  // namespace lockset::postgresql
