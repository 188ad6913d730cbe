// Attempts to acquire a set, and the waits between them.
#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "backends/answers.h"
#include "backends/mysql/backend.h"
#include "backends/mysql/call_text.h"
#include "backends/mysql/reply.h"
#include "backends/mysql/sql.h"

namespace lockset::mysql {
namespace {

using std::chrono::microseconds;

constexpr std::size_t most_label = 1024;  // as the column

// How long a statement of the poller may take.
constexpr Duration look_timeout = std::chrono::seconds(2);

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
      // After this time, a call that still waits for a lock has no caller left to take the grant.
      .number(std::max<std::int64_t>(us(request.by - BootClock::now()), 0));
  return call.str();
}

}  // namespace

Result<AcquireOutcome> MysqlBackend::try_acquire(const AcquireRequest& request) {
  std::uint32_t collisions = 0;
  const Result<Reply> answer = store_->run(acquire_text(*store_, request), Sent::change, request.by,
                                           Lane::common, &collisions);
  if (!answer) return answer.error();
  if (answer->rows.size() != 1) return nonsense(*store_);
  const std::string& outcome = answer->text(0);
  if (outcome == "granted") return granted(request, *answer, collisions);
  if (outcome == "busy") return busy(request, *answer, collisions);
  if (outcome == "stale") return AcquireOutcome(Stale{});
  if (outcome == "unsure") {
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

Result<AcquireOutcome> MysqlBackend::granted(const AcquireRequest& request, const Reply& answer,
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
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].mode == Mode::read || request.permits[i] == 1) {
      poller_.taken(items[i].name, items[i].mode, grant.stamp);
    }
  }
  if (auto mine = std::dynamic_pointer_cast<Poller::Ticket>(request.ticket)) Poller::leave(*mine);
  return AcquireOutcome(std::move(grant));
}

Result<AcquireOutcome> MysqlBackend::busy(const AcquireRequest& request, const Reply& answer,
                                          std::uint32_t collisions) {
  Busy busy;
  busy.holder = Stamp{answer.number(1)};
  if (const auto left_us = answer.optional_number(3)) busy.retry_after = microseconds(*left_us);
  busy.name = answer.text(5);
  busy.mode = mode_of(answer.number(6));
  busy.holder_label = answer.text(7);
  busy.collisions = collisions;
  // Without a ticket the client comes back to look, over a connection that counts the connections
  // again. With a ticket it needs only one: a look beside a call may have opened another.
  const bool keeps_none = request.ticket == nullptr && store_->crowded();
  if (request.will_wait && store_->crowded()) store_->close_idle(keeps_none ? 0 : 1);
  if (request.will_wait && !keeps_none) {
    const auto items = request.set->items();
    const auto wanted = std::find_if(items.begin(), items.end(), [&](const LockRequest& item) {
      return item.name == busy.name;
    });
    busy.ticket = poller_.queue_up(std::dynamic_pointer_cast<Poller::Ticket>(request.ticket),
                                   {busy.name, wanted != items.end() ? wanted->mode : Mode::write,
                                    numbers_of(answer.text(4)), request.config_version});
  }
  return AcquireOutcome(std::move(busy));
}

Result<std::optional<Grant>> MysqlBackend::resolve(const HoldRef& attempt, TimePoint by) {
  // If the first name is not known, the statement searches the holds.
  const bool named = attempt.set != nullptr;
  const std::string sql =
      "SELECT f.stamp, f.expires - c.now_us, c.now_us, "
      "(SELECT MIN(m.stamp) FROM {space}_locks m WHERE m.name = i.name) "
      "FROM (SELECT {now} AS now_us) c CROSS JOIN {space}_locks f "
      "JOIN {space}_locks i FORCE INDEX (by_stamp) ON i.stamp = f.stamp "
      "WHERE " +
      (named ? "f.name = " + hex_literal(attempt.set->items().front().name) + " AND "
             : std::string()) +
      "f.item = 0 AND f.token = " + hex_literal(bytes_of(attempt.token)) +
      " AND (f.expires IS NULL OR f.expires > c.now_us) ORDER BY i.item";
  const Result<Reply> rows =
      store_->run(filled_in(sql, store_->options().space), Sent::reading, by);
  if (!rows) return rows.error();
  if (rows->rows.empty()) return std::optional<Grant>();
  Grant grant;
  grant.stamp = Stamp{rows->number(0)};
  grant.lease = left_of(rows->optional_number(1));
  grant.store_time_us = rows->number(2);
  for (std::size_t row = 0; row < rows->rows.size(); ++row) {
    grant.floors.push_back(Stamp{rows->number(3, row)});
  }
  return std::optional<Grant>(std::move(grant));
}

std::optional<Poller::Look> MysqlBackend::look(const std::vector<std::int64_t>& stamps) {
  std::string list = "0";
  for (const std::int64_t stamp : stamps) list += "," + std::to_string(stamp);
  // A plain read: it waits for no lock, and nothing waits for it.
  const std::string sql =
      "SELECT config_version, NULL FROM {space}_space WHERE id = 1 "
      "UNION ALL SELECT NULL, l.stamp FROM {space}_locks l FORCE INDEX (by_stamp) "
      "WHERE l.item = 0 AND l.stamp IN (" +
      list + ") AND (l.expires IS NULL OR l.expires > {now})";
  const Result<Reply> rows = store_->run(filled_in(sql, store_->options().space), Sent::reading,
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
  auto* mine = dynamic_cast<Poller::Ticket*>(&ticket);
  if (mine == nullptr) return foreign_ticket();
  Poller::sleep(*mine, until, stop);
  return {};
}

void MysqlBackend::end_wait(WaitTicket& ticket, TimePoint /*by*/) {
  if (auto* mine = dynamic_cast<Poller::Ticket*>(&ticket)) Poller::leave(*mine);
}

}  // namespace lockset::mysql
