// Renews, releases, breaks, sweeps and lists holds.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <string>
#include <system_error>

#include "backends/answers.h"
#include "backends/mysql/backend.h"
#include "backends/mysql/call_text.h"
#include "backends/mysql/reply.h"
#include "backends/mysql/sql.h"
#include "core/machine.h"

namespace lockset::mysql {
namespace {

using std::chrono::microseconds;

// For one sweep: how many holds it looks at, how many it removes, how many rows of names it looks
// at, and how long a name must have been idle before its row is removed.
constexpr int sweep_looks = 20'000;
constexpr int sweep_removes = 500;
constexpr int collect_looks = 500;
constexpr std::int64_t collect_age_us = 3'600'000'000;

// How long after it was sent a registration may still be applied. A statement that waits for a row
// ends after two seconds, and so does a connection's last one after its client has given it up.
constexpr std::chrono::minutes late_registrations{10};

std::string items_json(const ReregisterRequest& request) {
  std::string json = "[";
  const auto items = request.renewal.hold.set->items();
  for (std::size_t i = 0; i < items.size(); ++i) {
    json += (json.size() > 1 ? ",[" : "[") + json_string(items[i].name) + "," +
            std::to_string(number(items[i].mode)) + "," + std::to_string(request.permits[i]) + "]";
  }
  return json + "]";
}

}  // namespace

Result<RenewReply> MysqlBackend::renew(const Owner& owner, std::span<const RenewRequest> requests,
                                       TimePoint by) {
  std::map<std::int64_t, std::string> names;  // the name of item 0, by stamp; "": not known
  std::string unknown;
  for (const RenewRequest& request : requests) {
    const HoldRef& hold = request.hold;
    if (hold.set != nullptr) {
      names[hold.stamp.value] = hold.set->items().front().name;
    } else {
      unknown += (unknown.empty() ? "" : ",") + std::to_string(hold.stamp.value);
    }
  }
  if (!unknown.empty()) {
    const Result<Reply> rows =
        store_->run("SELECT stamp, name FROM " + store_->name("_locks") +
                        " FORCE INDEX (by_stamp) WHERE item = 0 AND stamp IN (" + unknown + ")",
                    Sent::reading, by, Lane::renewal);
    if (!rows) return rows.error();
    for (std::size_t row = 0; row < rows->rows.size(); ++row) {
      names[rows->number(0, row)] = rows->text(1, row);
    }
  }
  std::map<std::int64_t, const RenewRequest*> ascending;
  for (const RenewRequest& request : requests) ascending[request.hold.stamp.value] = &request;
  std::string json = "[";
  for (const auto& [stamp, request] : ascending) {
    if (names[stamp].empty()) continue;
    json += json.size() > 1 ? ",[" : "[";
    json += std::to_string(stamp) + "," + json_string(names[stamp]) + "," +
            std::to_string(request->permanent ? 0 : us(request->lease)) + "," +
            (request->permanent ? "1]" : "0]");
  }
  json += "]";
  const Result<Reply> rows =
      store_->run(CallText(store_->name("_renew")).bytes(owner.app).utf8(json).str(), Sent::change,
                  by, Lane::renewal);
  if (!rows) return rows.error();
  RenewReply reply;
  bool at_home = true;
  std::int64_t max_lease_us = 0;
  std::map<std::int64_t, Renewal> renewed;
  for (std::size_t row = 0; row < rows->rows.size(); ++row) {
    reply.store_time_us = rows->number(2, row);
    if (rows->number(0, row) == 0) {
      at_home = rows->number(1, row) != 0;
      max_lease_us = rows->number(3, row);
    } else {
      renewed[rows->number(0, row)] = Renewal{left_of(rows->optional_number(1, row))};
    }
  }
  bool misses = false;
  std::int64_t longest_us = 0;
  for (const RenewRequest& request : requests) {
    const auto found = renewed.find(request.hold.stamp.value);
    if (found == renewed.end()) {
      reply.renewals.emplace_back();
      misses = misses || request.hold.known();
    } else {
      reply.renewals.emplace_back(found->second);
      if (!request.permanent) longest_us = std::max(longest_us, us(request.lease));
    }
  }
  if (longest_us > max_lease_us) {
    // Who renewed relies on it only after this.
    const Result<Reply> noted =
        store_->run(CallText(store_->name("_note_lease")).number(longest_us).str(), Sent::change,
                    by, Lane::renewal);
    if (!noted) return noted.error();
  }
  if (at_home && !misses) return reply;
  // Only a look into the space tells whether what is not there was lost with another server.
  const Result<Duration> left = quarantine_left(by, Lane::renewal);
  if (!left) return left.error();
  if (*left == Duration::zero()) return reply;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    reply.forgotten.push_back(!reply.renewals[i] && requests[i].hold.known());
  }
  return reply;
}

Result<Duration> MysqlBackend::quarantine_left(TimePoint by, Lane lane) {
  // What it changes is the same, however often it is applied.
  const Result<Reply> answer =
      store_->run(CallText(store_->name("_quarantine")).str(), Sent::reading, by, lane);
  if (!answer) return answer.error();
  if (answer->rows.size() != 1) return nonsense(*store_);
  return Duration(microseconds(answer->number(0)));
}

Result<ReregisterOutcome> MysqlBackend::reregister(const Owner& owner,
                                                   const ReregisterRequest& request, TimePoint by) {
  const HoldRef& hold = request.renewal.hold;
  const auto items = hold.set->items();
  // Stamps are usually the server's time.
  const std::int64_t since_us = hold.store_time_us != 0 ? hold.store_time_us : hold.stamp.value;
  notes_until_ = BootClock::now() + late_registrations;
  CallText call(store_->name("_reregister"));
  call.number(request.config_version).bytes(items.front().name);
  if (items.size() == 1) {
    call.null();
  } else {
    call.bytes(packed_names(*hold.set));
  }
  call.utf8(items_json(request)).number(static_cast<std::int64_t>(items.size()));
  call.number(number(items.front().mode));
  if (request.renewal.permanent) {
    call.null();
  } else {
    call.number(us(request.renewal.lease));
  }
  call.number(hold.stamp.value)
      .bytes(bytes_of(hold.token))
      .bytes(owner.app)
      .bytes(hold.owner->instance)
      .number(hold.owner->epoch)
      .bytes(label_of(*hold.owner))
      .number(since_us);
  const Result<Reply> answer = store_->run(call.str(), Sent::change, by, Lane::renewal);
  if (!answer) return answer.error();
  if (answer->rows.size() != 1) return nonsense(*store_);
  const std::string& outcome = answer->text(0);
  if (outcome == "stale") return ReregisterOutcome(Stale{});
  if (outcome == "gone") return ReregisterOutcome(Gone{});
  if (outcome != "registered") return nonsense(*store_);
  wake(answer->text(2), by);
  return ReregisterOutcome(Renewal{left_of(answer->optional_number(1))});
}

namespace {

bool has_one_known_name(const HoldRef& hold) {
  return hold.set != nullptr && hold.set->size() == 1;
}

}  // namespace

std::string MysqlBackend::release_text(std::string_view procedure, const HoldRef& hold,
                                       std::string_view app) const {
  return CallText(store_->name(procedure))
      .number(hold.stamp.value)
      .bytes(hold.set->items().front().name)
      .bytes(app)
      .str();
}

Result<bool> MysqlBackend::release(const HoldRef& hold, std::string_view app, TimePoint by) {
  if (!hold.known() || notes_ends()) return release_noted(hold, app, by);
  const Result<std::int64_t> done =
      end_hold(has_one_known_name(hold)
                   ? release_text("_release_now", hold, app)
                   : CallText(store_->name("_release")).number(hold.stamp.value).bytes(app).str(),
               by);
  if (!done) return done.error();
  if (*done == 2) return release_noted(hold, app, by);
  return *done == 1;
}

Result<bool> MysqlBackend::release_noted(const HoldRef& hold, std::string_view app, TimePoint by) {
  const Result<std::int64_t> done = end_hold(CallText(store_->name("_release_noted"))
                                                 .number(hold.stamp.value)
                                                 .bytes(app)
                                                 .number(hold.known() ? 1 : 0)
                                                 .str(),
                                             by);
  if (!done) return done.error();
  return *done == 1;
}

// The server ends one hold per call. So several calls share a transaction, and with it one flush to
// disk, and several connections work at the same time.
Result<std::vector<bool>> MysqlBackend::release_all(std::span<const HoldRef> holds,
                                                    std::string_view app, TimePoint by) {
  constexpr std::size_t together = 64;
  std::vector<char> ended(holds.size());
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::optional<Error> trouble;
  const auto work = [&] {
    for (std::size_t at = next.fetch_add(together); at < holds.size();
         at = next.fetch_add(together)) {
      const auto some = holds.subspan(at, std::min(together, holds.size() - at));
      const Status done = release_some(some, app, by, std::span(ended).subspan(at, some.size()));
      if (done) continue;
      const std::lock_guard lock(mutex);
      trouble = done.error();
      next = holds.size();
    }
  };
  std::array<Thread, 7> others;
  const std::size_t wanted = std::min(store_->options().pool, holds.size() / together);
  for (std::size_t i = 0; i < others.size() && i + 1 < wanted; ++i) {
    try {
      others[i].start(work);
    } catch (const std::system_error&) {
      break;  // fewer threads do the work
    }
  }
  work();
  for (Thread& other : others) {
    if (other.joinable()) other.join();
  }
  if (trouble) return *trouble;
  return std::vector<bool>(ended.begin(), ended.end());
}

Status MysqlBackend::release_some(std::span<const HoldRef> holds, std::string_view app,
                                  TimePoint by, std::span<char> ended) {
  std::vector<std::string> calls;
  std::vector<std::size_t> places;
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < holds.size(); ++i) {
    if (has_one_known_name(holds[i]) && holds[i].known() && !notes_ends()) {
      calls.push_back(release_text("_release_one", holds[i], app));
      places.push_back(i);
    } else {
      others.push_back(i);  // its procedure has a transaction of its own
    }
  }
  if (!calls.empty()) {
    const Result<std::vector<Reply>> answers = store_->run_together(calls, by);
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (answers) {
        const Reply& answer = (*answers)[i];
        const std::int64_t done = answer.rows.empty() ? 1 : answer.number(0);
        ended[places[i]] = done == 1 ? 1 : 0;
        if (done == 2) others.push_back(places[i]);
        if (!answer.rows.empty()) wake(answer.text(1), by);
      } else if (answers.error().may_have_applied()) {
        return answers.error();
      } else {
        others.push_back(places[i]);  // after a deadlock, for example
      }
    }
  }
  for (const std::size_t i : others) {
    const Result<bool> one = release(holds[i], app, by);
    if (!one) return one.error();
    ended[i] = *one ? 1 : 0;
  }
  return {};
}

Result<bool> MysqlBackend::break_hold(const HoldRef& hold, TimePoint by) {
  const Result<std::int64_t> done =
      end_hold(CallText(store_->name("_break")).number(hold.stamp.value).str(), by);
  if (!done) return done.error();
  return *done == 1;
}

Result<std::int64_t> MysqlBackend::end_hold(const std::string& call, TimePoint by) {
  const Result<Reply> done = store_->run(call, Sent::change, by);
  if (!done) return done.error();
  if (done->rows.empty()) return 1;
  wake(done->text(1), by);
  return done->number(0);
}

Result<Inspection> MysqlBackend::inspect(const InspectQuery& query, TimePoint by) {
  std::string which;
  if (query.match != InspectQuery::Match::all) {
    // No UTF-8 text contains the byte FF: no name with this prefix comes after it.
    const std::string end =
        query.match == InspectQuery::Match::name ? query.text : query.text + '\xFF';
    which = " AND f.stamp IN (SELECT w.stamp FROM {space}_locks w WHERE w.name BETWEEN " +
            hex_literal(query.text) + " AND " + hex_literal(end) + ")";
  }
  const std::string sql =
      "SELECT f.stamp, f.app, f.instance, f.epoch, f.label, f.created, f.expires - c.now_us, "
      "i.name, i.mode FROM (SELECT {now} AS now_us) c CROSS JOIN {space}_locks f "
      "JOIN {space}_locks i FORCE INDEX (by_stamp) ON i.stamp = f.stamp "
      "WHERE f.item = 0 AND (f.expires IS NULL OR f.expires > c.now_us)" +
      which + " ORDER BY f.stamp, i.item";
  const Result<Reply> rows =
      store_->run(filled_in(sql, store_->options().space), Sent::reading, by);
  if (!rows) return rows.error();
  Inspection inspection;
  for (std::size_t row = 0; row < rows->rows.size(); ++row) {
    const Stamp stamp{rows->number(0, row)};
    if (inspection.holds.empty() || inspection.holds.back().stamp != stamp) {
      HoldInfo& hold = inspection.holds.emplace_back();
      hold.stamp = stamp;
      hold.owner =
          Owner{rows->text(1, row), rows->text(2, row), rows->number(3, row), rows->text(4, row)};
      hold.since = std::chrono::system_clock::time_point(microseconds(rows->number(5, row)));
      if (const auto left_us = rows->optional_number(6, row)) {
        hold.remaining = microseconds(*left_us);
      }
    }
    inspection.holds.back().items.push_back({rows->text(7, row), mode_of(rows->number(8, row))});
  }
  const Result<Duration> left = quarantine_left(by);
  if (!left) return left.error();
  if (*left > Duration::zero()) inspection.quarantine = *left;
  if (Status listed = list_waiters(query, by, inspection.waiters); !listed) return listed.error();
  return inspection;
}

Status MysqlBackend::list_waiters(const InspectQuery& query, TimePoint by,
                                  std::vector<WaiterInfo>& waiters) {
  const Result<Reply> rows =
      store_->run(CallText(store_->name("_waiting")).str(), Sent::reading, by);
  if (!rows) return rows.error();
  std::int64_t last = 0;
  for (std::size_t row = 0; row < rows->rows.size(); ++row) {
    if (rows->number(0, row) != last) {
      last = rows->number(0, row);
      WaiterInfo& waiter = waiters.emplace_back();
      waiter.owner =
          Owner{rows->text(1, row), rows->text(2, row), rows->number(3, row), rows->text(4, row)};
      waiter.since = std::chrono::system_clock::time_point(microseconds(rows->number(5, row)));
    }
    waiters.back().items.push_back({rows->text(6, row), mode_of(rows->number(7, row))});
  }
  std::erase_if(waiters, [&](const WaiterInfo& waiter) { return !query.matches(waiter.items); });
  return {};
}

Result<std::size_t> MysqlBackend::reclaim(std::string_view app, std::int64_t epoch, TimePoint by) {
  const Result<Reply> done = store_->run(
      CallText(store_->name("_reclaim")).bytes(app).number(epoch).str(), Sent::change, by);
  if (!done) return done.error();
  if (done->rows.size() != 1) return nonsense(*store_);
  if (done->text(0) == "superseded") {
    return newer_epoch(app, done->text(1));
  }
  if (done->text(0) == "not_held") {
    return no_live_epoch(app, epoch);
  }
  wake(done->text(2), by);
  return static_cast<std::size_t>(done->number(1));
}

Result<std::size_t> MysqlBackend::sweep(TimePoint by) {
  const std::lock_guard lock(sweep_mutex_);
  std::size_t removed = 0;
  // Goes around the end once at most.
  for (int i = 0; i < 2; ++i) {
    const bool from_the_start = sweep_from_ == 0;
    const Result<Reply> done = store_->run(CallText(store_->name("_sweep"))
                                               .number(sweep_from_)
                                               .number(sweep_looks)
                                               .number(sweep_removes)
                                               .str(),
                                           Sent::change, by);
    if (!done) return done.error();
    if (done->rows.size() != 1) return nonsense(*store_);
    removed += static_cast<std::size_t>(done->number(0));
    sweep_from_ = done->number(1);
    wake(done->text(2), by);
    if (from_the_start || sweep_from_ != 0) break;
  }
  if (Status collected = collect_names(by); !collected) return collected.error();
  return removed;
}

Status MysqlBackend::collect_names(TimePoint by) {
  const Result<Reply> done = store_->run(CallText(store_->name("_collect"))
                                             .bytes(collect_from_)
                                             .number(collect_looks)
                                             .number(collect_age_us)
                                             .str(),
                                         Sent::change, by);
  if (!done) return done.error();
  collect_from_ = done->rows.size() == 1 ? done->text(0) : "";
  return {};
}

}  // namespace lockset::mysql
