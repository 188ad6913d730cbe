#include "backends/mysql/backend.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <map>
#include <system_error>
#include <utility>

#include "backends/mysql/call_text.h"
#include "backends/mysql/sql.h"
#include "core/machine.h"

namespace lockset::mysql {
namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;

// Of one sweep: holds looked at, and removed; rows of names looked at, and how long a name
// must have been idle before its row is removed.
constexpr int sweep_looks = 20'000;
constexpr int sweep_removes = 500;
constexpr int collect_looks = 500;
constexpr std::int64_t collect_age_us = 3'600'000'000;

constexpr std::size_t most_label = 1024;  // as the column

// What a statement of the poller may take.
constexpr Duration look_timeout = std::chrono::seconds(2);

constexpr std::string_view config_sql =
    "SELECT 'space', NULL, config_version, max_lease_us, migration_phase, stamp_base "
    "FROM {space}_space WHERE id = 1 "
    "UNION ALL SELECT 'permits', name, mode, permits, NULL, NULL FROM {space}_lock_permits "
    "UNION ALL SELECT 'epoch', app, epoch, NULL, NULL, NULL FROM {space}_epochs";

std::int64_t us(Duration duration) { return duration_cast<microseconds>(duration).count(); }

Duration left_of(std::optional<std::int64_t> left_us) {
  return left_us ? Duration(microseconds(*left_us)) : Duration::max();
}

std::int64_t number(Mode mode) { return mode == Mode::write ? 1 : 0; }
Mode mode_of(std::int64_t number) { return number == 1 ? Mode::write : Mode::read; }

std::vector<std::int64_t> numbers_of(std::string_view list) {
  std::vector<std::int64_t> numbers;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    std::int64_t value = 0;
    std::from_chars(list.data(), list.data() + end, value);
    numbers.push_back(value);
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return numbers;
}

// At most `most` bytes of a UTF-8 text, whole characters.
std::string_view cut(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80U) --most;
  return text.substr(0, most);
}

std::string items_json(const AcquireRequest& request) {
  std::string json = "[";
  const auto items = request.set->items();
  for (std::size_t i = 0; i < items.size(); ++i) {
    json += json.size() > 1 ? ",[" : "[";
    json += json_string(items[i].name) + "," + std::to_string(number(items[i].mode)) + "," +
            std::to_string(request.permits[i]) + "]";
  }
  return json + "]";
}

std::string acquire_text(const Store& store, const AcquireRequest& request) {
  const auto items = request.set->items();
  const LockRequest& first = items.front();
  const bool one = items.size() == 1;
  CallText call(store.name(acquire_procedure_name(store.options().strategy)) + (one ? "_one" : ""));
  call.number(request.config_version).bytes(first.name);
  if (one) {
    call.number(request.permits[0]);
  } else {
    call.bytes(packed_names(*request.set))
        .utf8(items_json(request))
        .number(static_cast<std::int64_t>(items.size()));
  }
  call.number(number(first.mode))
      .number(us(request.lease))
      .bytes(bytes_of(request.token))
      .bytes(request.owner->app)
      .bytes(request.owner->instance)
      .number(request.owner->epoch)
      .bytes(cut(request.owner->label, most_label))
      .number(request.min_stamp.value)
      // Who is still standing before a lock then has nobody left who would take the grant.
      .number(std::max<std::int64_t>(us(request.by - BootClock::now()), 0));
  return call.str();
}

SpaceConfig config_from(const Answer& answer) {
  SpaceConfig config;
  for (std::size_t row = 0; row < answer.rows.size(); ++row) {
    const std::string& kind = answer.text(0, row);
    if (kind == "space") {
      config.version = answer.number(2, row);
      config.max_lease = microseconds(answer.number(3, row));
      config.migration_phase = answer.number(4, row);
      config.stamp_base = Stamp{answer.number(5, row)};
    } else if (kind == "permits") {
      SpaceConfig::Entry& entry = config.permits[answer.text(1, row)];
      (mode_of(answer.number(2, row)) == Mode::read ? entry.read : entry.write) =
          static_cast<std::uint32_t>(answer.number(3, row));
    } else {
      config.epochs[answer.text(1, row)] = answer.number(2, row);
    }
  }
  return config;
}

Error nonsense(const Store& store) {
  return Error{Errc::internal, store.options().shown() +
                                   ": a procedure gave an answer that makes no sense; run lockset "
                                   "init"};
}

}  // namespace

MysqlBackend::MysqlBackend(std::unique_ptr<Store> store)
    : store_(std::move(store)),
      poller_([this](const std::vector<std::int64_t>& stamps) { return look(stamps); }) {}

Traits MysqlBackend::traits() const {
  Traits traits;
  traits.push_wakeup = true;  // by a poller that costs the store little, see waiting.h
  traits.permanent_leases = true;
  traits.holds_outlive_process = true;
  traits.shared_between_processes = true;
  traits.floors = true;
  return traits;
}

Result<AcquireOutcome> MysqlBackend::try_acquire(const AcquireRequest& request) {
  const auto items = request.set->items();
  std::uint32_t collisions = 0;
  const Result<Answer> answer = store_->run(acquire_text(*store_, request), Sent::change,
                                            request.by, Store::Lane::common, &collisions);
  if (!answer) {
    if (answer.error().may_have_applied()) {
      known_.add_doubt(request.token, {items.front().name, items.size()});
    }
    return answer.error();
  }
  if (answer->rows.size() != 1) return nonsense(*store_);
  const std::string& outcome = answer->text(0);
  if (outcome == "granted") return granted(request, *answer, collisions);
  if (outcome == "busy") return busy(request, *answer, collisions);
  if (outcome == "stale") {
    Result<SpaceConfig> config = load_config(request.by);
    if (!config) return Error{Errc::unavailable, config.error().message};
    AcquireOutcome stale = Stale{*std::move(config)};
    return stale;
  }
  if (outcome == "unsure") {
    known_.add_doubt(request.token, {items.front().name, items.size()});
    return error_from(not_kept, "changed over under the commit", store_->options().shown(),
                      Sent::change);
  }
  if (outcome == "late") {
    return Error{Errc::unavailable, store_->options().shown() +
                                        ": the names' rows stayed locked until the deadline; "
                                        "nothing was applied"};
  }
  return nonsense(*store_);
}

Result<AcquireOutcome> MysqlBackend::granted(const AcquireRequest& request, const Answer& answer,
                                             std::uint32_t collisions) {
  const auto items = request.set->items();
  Grant grant;
  grant.stamp = Stamp{answer.number(1)};
  grant.store_time_us = answer.number(2);
  grant.lease = left_of(answer.optional_number(3));
  grant.collisions = collisions;
  for (const std::int64_t floor : numbers_of(answer.text(4))) {
    grant.floors.push_back(floor != 0 ? Stamp{floor} : grant.stamp);
  }
  if (grant.floors.empty()) grant.floors.assign(items.size(), grant.stamp);
  if (grant.floors.size() != items.size()) {
    return Error{Errc::indeterminate, nonsense(*store_).message};
  }
  known_.add(grant.stamp, {items.front().name, items.size()});
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].mode == Mode::read || request.permits[i] == 1) {
      poller_.taken(items[i].name, items[i].mode, grant.stamp);
    }
  }
  if (auto place = std::dynamic_pointer_cast<Poller::Place>(request.ticket)) Poller::leave(*place);
  return AcquireOutcome(std::move(grant));
}

Result<AcquireOutcome> MysqlBackend::busy(const AcquireRequest& request, const Answer& answer,
                                          std::uint32_t collisions) {
  Busy busy;
  busy.holder = Stamp{answer.number(1)};
  if (const auto left_us = answer.optional_number(3)) busy.retry_after = microseconds(*left_us);
  busy.name = answer.text(5);
  busy.mode = mode_of(answer.number(6));
  busy.holder_label = answer.text(7);
  busy.collisions = collisions;
  // Without a ticket it comes back to look, over a connection that sees anew how many there are.
  // With one it needs a single connection: a look beside a call may have opened another.
  const bool keeps_none = request.ticket == nullptr && store_->crowded();
  if (request.will_wait && store_->crowded()) store_->close_idle(keeps_none ? 0 : 1);
  if (request.will_wait && !keeps_none) {
    const auto items = request.set->items();
    const auto wanted = std::find_if(items.begin(), items.end(), [&](const LockRequest& item) {
      return item.name == busy.name;
    });
    busy.ticket = poller_.queue_up(std::dynamic_pointer_cast<Poller::Place>(request.ticket),
                                   {busy.name, wanted != items.end() ? wanted->mode : Mode::write,
                                    numbers_of(answer.text(4)), request.config_version});
  }
  return AcquireOutcome(std::move(busy));
}

Result<std::optional<Grant>> MysqlBackend::resolve(const Token& token, TimePoint by) {
  // Where the first name is not known (another process asks), the holds are searched.
  const std::optional<KnownHolds::Place> place = known_.find_doubt(token);
  const std::string sql =
      "SELECT f.stamp, f.expires - c.now_us, c.now_us, f.name, "
      "(SELECT MIN(m.stamp) FROM {space}_locks m WHERE m.name = i.name) "
      "FROM (SELECT {now} AS now_us) c CROSS JOIN {space}_locks f "
      "JOIN {space}_locks i FORCE INDEX (by_stamp) ON i.stamp = f.stamp "
      "WHERE " +
      (place ? "f.name = " + hex_literal(place->name) + " AND " : std::string()) +
      "f.item = 0 AND f.token = " + hex_literal(bytes_of(token)) +
      " AND (f.expires IS NULL OR f.expires > c.now_us) ORDER BY i.item";
  const Result<Answer> rows =
      store_->run(filled_in(sql, store_->options().space), Sent::reading, by);
  if (!rows) return rows.error();
  if (rows->rows.empty()) return std::optional<Grant>();
  Grant grant;
  grant.stamp = Stamp{rows->number(0)};
  grant.lease = left_of(rows->optional_number(1));
  grant.store_time_us = rows->number(2);
  for (std::size_t row = 0; row < rows->rows.size(); ++row) {
    grant.floors.push_back(Stamp{rows->number(4, row)});
  }
  known_.add(grant.stamp, {rows->text(3), rows->rows.size()});
  return std::optional<Grant>(std::move(grant));
}

Result<RenewReply> MysqlBackend::renew(const Owner& owner, std::span<const RenewRequest> requests,
                                       TimePoint by) {
  std::map<std::int64_t, std::string> names;  // of item 0, by stamp; "": not known
  std::string unknown;
  for (const RenewRequest& request : requests) {
    std::string& name = names[request.stamp.value];
    if (request.set != nullptr) {
      name = request.set->items().front().name;
    } else if (const auto place = known_.find(request.stamp)) {
      name = place->name;
    } else {
      unknown += (unknown.empty() ? "" : ",") + std::to_string(request.stamp.value);
    }
  }
  if (!unknown.empty()) {
    const Result<Answer> rows =
        store_->run("SELECT stamp, name FROM " + store_->name("_locks") +
                        " FORCE INDEX (by_stamp) WHERE item = 0 AND stamp IN (" + unknown + ")",
                    Sent::reading, by, Store::Lane::reserved);
    if (!rows) return rows.error();
    for (std::size_t row = 0; row < rows->rows.size(); ++row) {
      names[rows->number(0, row)] = rows->text(1, row);
    }
  }
  std::map<std::int64_t, const RenewRequest*> ascending;
  for (const RenewRequest& request : requests) ascending[request.stamp.value] = &request;
  std::string json = "[";
  for (const auto& [stamp, request] : ascending) {
    if (names[stamp].empty()) continue;
    json += json.size() > 1 ? ",[" : "[";
    json += std::to_string(stamp) + "," + json_string(names[stamp]) + "," +
            std::to_string(request->permanent ? 0 : us(request->lease)) + "," +
            (request->permanent ? "1]" : "0]");
  }
  json += "]";
  const Result<Answer> rows =
      store_->run(CallText(store_->name("_renew")).bytes(owner.app).utf8(json).str(), Sent::change,
                  by, Store::Lane::reserved);
  if (!rows) return rows.error();
  RenewReply reply;
  std::map<std::int64_t, Renewal> renewed;
  for (std::size_t row = 0; row < rows->rows.size(); ++row) {
    reply.store_time_us = rows->number(2, row);
    renewed[rows->number(0, row)] = Renewal{left_of(rows->optional_number(1, row))};
  }
  for (const RenewRequest& request : requests) {
    const auto found = renewed.find(request.stamp.value);
    if (found == renewed.end() || request.stamp.value == 0) {
      reply.renewals.emplace_back();
    } else {
      reply.renewals.emplace_back(found->second);
    }
  }
  return reply;
}

std::string MysqlBackend::release_one(Stamp stamp, std::string_view name,
                                      std::string_view app) const {
  return CallText(store_->name("_release_one")).number(stamp.value).bytes(name).bytes(app).str();
}

Result<bool> MysqlBackend::release(Stamp stamp, std::string_view app, TimePoint by) {
  const std::optional<KnownHolds::Place> place = known_.find(stamp);
  if (place && place->items == 1) {
    const Result<Answer> done = store_->run(release_one(stamp, place->name, app), Sent::change, by);
    if (!done) return done.error();
    known_.remove(stamp);
    return done->affected == 1;
  }
  return end_hold(stamp, CallText(store_->name("_release")).number(stamp.value).bytes(app).str(),
                  Sent::change, by);
}

// The server takes one hold a call. So several share a transaction, and with it a flush of the
// disk, and several connections are at it at a time.
Result<std::vector<bool>> MysqlBackend::release_all(std::span<const Stamp> stamps,
                                                    std::string_view app, TimePoint by) {
  constexpr std::size_t together = 64;
  std::vector<char> ended(stamps.size());
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::optional<Error> trouble;
  const auto work = [&] {
    for (std::size_t at = next.fetch_add(together); at < stamps.size();
         at = next.fetch_add(together)) {
      const auto some = stamps.subspan(at, std::min(together, stamps.size() - at));
      const Status done = release_some(some, app, by, std::span(ended).subspan(at, some.size()));
      if (done) continue;
      const std::lock_guard lock(mutex);
      trouble = done.error();
      next = stamps.size();
    }
  };
  std::array<Thread, 7> others;
  const std::size_t wanted = std::min(store_->options().pool, stamps.size() / together);
  for (std::size_t i = 0; i < others.size() && i + 1 < wanted; ++i) {
    try {
      others[i].start(work);
    } catch (const std::system_error&) {
      break;  // with fewer of them
    }
  }
  work();
  for (Thread& other : others) {
    if (other.joinable()) other.join();
  }
  if (trouble) return *trouble;
  return std::vector<bool>(ended.begin(), ended.end());
}

Status MysqlBackend::release_some(std::span<const Stamp> stamps, std::string_view app, TimePoint by,
                                  std::span<char> ended) {
  std::vector<std::string> calls;
  std::vector<std::size_t> places;
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < stamps.size(); ++i) {
    const std::optional<KnownHolds::Place> place = known_.find(stamps[i]);
    if (place && place->items == 1) {
      calls.push_back(release_one(stamps[i], place->name, app));
      places.push_back(i);
    } else {
      others.push_back(i);  // its procedure has a transaction of its own
    }
  }
  if (!calls.empty()) {
    const Result<std::vector<Answer>> answers = store_->run_together(calls, by);
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (answers) {
        known_.remove(stamps[places[i]]);
        ended[places[i]] = (*answers)[i].affected == 1 ? 1 : 0;
      } else if (answers.error().may_have_applied()) {
        return answers.error();
      } else {
        others.push_back(places[i]);  // after a deadlock, for one
      }
    }
  }
  for (const std::size_t i : others) {
    const Result<bool> one = release(stamps[i], app, by);
    if (!one) return one.error();
    ended[i] = *one ? 1 : 0;
  }
  return {};
}

Result<bool> MysqlBackend::break_hold(Stamp stamp, TimePoint by) {
  return end_hold(stamp, CallText(store_->name("_break")).number(stamp.value).str(), Sent::steering,
                  by);
}

Result<bool> MysqlBackend::end_hold(Stamp stamp, const std::string& call, Sent sent, TimePoint by) {
  const Result<Answer> done = store_->run(call, sent, by);
  if (!done) return done.error();
  if (done->rows.size() != 1) return nonsense(*store_);
  known_.remove(stamp);
  return done->number(0) == 1;
}

std::optional<Poller::Look> MysqlBackend::look(const std::vector<std::int64_t>& stamps) {
  std::string list = "0";
  for (const std::int64_t stamp : stamps) list += "," + std::to_string(stamp);
  // A plain read: it waits for nobody, and nobody for it.
  const std::string sql =
      "SELECT config_version, NULL FROM {space}_space WHERE id = 1 "
      "UNION ALL SELECT NULL, l.stamp FROM {space}_locks l FORCE INDEX (by_stamp) "
      "WHERE l.item = 0 AND l.stamp IN (" +
      list + ") AND (l.expires IS NULL OR l.expires > {now})";
  const Result<Answer> rows = store_->run(filled_in(sql, store_->options().space), Sent::reading,
                                          BootClock::now() + look_timeout);
  if (!rows) return {};
  Poller::Look look;
  for (std::size_t row = 0; row < rows->rows.size(); ++row) {
    if (const auto version = rows->optional_number(0, row)) look.config_version = *version;
    if (const auto stamp = rows->optional_number(1, row)) look.alive.insert(*stamp);
  }
  return look;
}

Status MysqlBackend::await_change(WaitTicket& ticket, TimePoint until, std::stop_token stop) {
  auto* place = dynamic_cast<Poller::Place*>(&ticket);
  if (place == nullptr) return Error{Errc::internal, "a wait ticket of another backend"};
  Poller::sleep(*place, until, stop);
  return {};
}

void MysqlBackend::end_wait(WaitTicket& ticket, TimePoint /*by*/) {
  if (auto* place = dynamic_cast<Poller::Place*>(&ticket)) Poller::leave(*place);
}

Result<Inspection> MysqlBackend::inspect(const InspectQuery& query, TimePoint by) {
  std::string which;
  if (query.match != InspectQuery::Match::all) {
    // No UTF-8 text holds the byte FF: behind it comes no name with this prefix.
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
  const Result<Answer> rows =
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
  return inspection;
}

Result<SpaceConfig> MysqlBackend::load_config(TimePoint by) {
  const Result<Answer> rows =
      store_->run(filled_in(config_sql, store_->options().space), Sent::reading, by);
  if (!rows) return rows.error();
  return config_from(*rows);
}

Result<SpaceConfig> MysqlBackend::change_config(const ConfigChange& change, TimePoint by) {
  CallText call(store_->name("_change"));
  if (const auto* permits = std::get_if<SetPermits>(&change)) {
    call.bytes("permits").bytes(permits->name).number(number(permits->mode));
    if (permits->permits) {
      call.number(*permits->permits);
    } else {
      call.null();
    }
    call.null();
  } else if (const auto* lease = std::get_if<SetMaxLease>(&change)) {
    call.bytes("max_lease").null().null().number(us(lease->max_lease)).null();
  } else if (const auto* phase = std::get_if<SetMigrationPhase>(&change)) {
    call.bytes("phase").null().null().number(phase->phase);
    if (phase->only_at_version) {
      call.number(*phase->only_at_version);
    } else {
      call.null();
    }
  } else if (const auto* base = std::get_if<RaiseStampBase>(&change)) {
    call.bytes("stamp_base").null().null().number(base->at_least.value).null();
  }
  const Result<Answer> rows = store_->run(call.str(), Sent::steering, by);
  if (!rows) return rows.error();
  return config_from(*rows);
}

Result<std::size_t> MysqlBackend::reclaim(std::string_view app, std::int64_t epoch, TimePoint by) {
  const Result<Answer> done = store_->run(
      CallText(store_->name("_reclaim")).bytes(app).number(epoch).str(), Sent::change, by);
  if (!done) return done.error();
  if (done->rows.size() != 1) return nonsense(*store_);
  if (done->text(0) == "superseded") {
    return Error{Errc::superseded, "a newer instance of application " + in_quotes(app) +
                                       " has begun the epoch " + done->text(1)};
  }
  if (done->text(0) == "not_held") {
    return Error{Errc::not_held, "the hold " + std::to_string(epoch) + " of application " +
                                     in_quotes(app) + " is not live: its epoch can't begin"};
  }
  return static_cast<std::size_t>(done->number(1));
}

Result<std::size_t> MysqlBackend::sweep(TimePoint by) {
  const std::lock_guard lock(sweep_mutex_);
  std::size_t removed = 0;
  // Once around the end at most.
  for (int i = 0; i < 2; ++i) {
    const bool from_the_start = sweep_from_ == 0;
    const Result<Answer> done = store_->run(CallText(store_->name("_sweep"))
                                                .number(sweep_from_)
                                                .number(sweep_looks)
                                                .number(sweep_removes)
                                                .str(),
                                            Sent::change, by);
    if (!done) return done.error();
    if (done->rows.size() != 1) return nonsense(*store_);
    removed += static_cast<std::size_t>(done->number(0));
    sweep_from_ = done->number(1);
    if (from_the_start || sweep_from_ != 0) break;
  }
  if (Status collected = collect_names(by); !collected) return collected.error();
  return removed;
}

Status MysqlBackend::collect_names(TimePoint by) {
  const Result<Answer> done = store_->run(CallText(store_->name("_collect"))
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
