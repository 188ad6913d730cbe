#include "backends/sqlite/waiting.h"

#include <chrono>
#include <set>

#include "backends/line_times.h"
#include "backends/sqlite/holds.h"
#include "backends/sqlite/wake_slots.h"

namespace lockset::sqlite {
namespace {

constexpr std::int64_t us(Duration duration) {
  return std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
}
constexpr std::int64_t waiter_lifetime_us = us(waiter_lifetime);
constexpr std::int64_t comes_within_us = us(comes_within);
constexpr std::int64_t prod_after_us = us(prod_after);

}  // namespace

std::int64_t add_waiter(Transaction& transaction, const LockSet& set, const Owner& owner) {
  const std::string items = packed(set.items());
  transaction.db
      .use(
          "INSERT INTO waiters (app, instance, epoch, label, since_wall_us, expires_boot_us, "
          "items) VALUES (?,?,?,?,?,?,?)")
      .bind(Text{owner.app}, Text{owner.instance}, owner.epoch, Text{owner.label},
            transaction.wall_us, transaction.now_us + waiter_lifetime_us, Blob{items})
      .run();
  const std::int64_t id = sqlite3_last_insert_rowid(transaction.db.handle());
  for (const LockRequest& item : set.items()) {
    transaction.db.use("INSERT INTO waiter_names VALUES (?,?,?)")
        .bind(Blob{item.name}, id, number(item.mode))
        .run();
  }
  return id;
}

std::optional<WaiterState> find_waiter(Transaction& transaction, std::int64_t id) {
  Query query = transaction.db.use(
      "SELECT woken_boot_us, expires_boot_us, overtaken FROM waiters WHERE id = ?");
  if (!query.bind(id).next()) return {};
  return WaiterState{!query.is_null(0), query.integer(1),
                     static_cast<std::uint32_t>(query.integer(2))};
}

Kept look_who_is_kept(Transaction& transaction, std::string_view name, std::int64_t before,
                      std::uint32_t max_overtakes) {
  Kept kept;
  Query query = transaction.db.use(
      "SELECT n.id, n.mode, w.label, w.expires_boot_us, w.woken_boot_us "
      "FROM waiter_names n CROSS JOIN waiters w ON w.id = n.id "
      "WHERE n.name = ?1 AND (?2 = 0 OR n.id < ?2) AND w.overtaken >= ?3 "
      "AND w.expires_boot_us > ?4 AND (w.woken_boot_us IS NULL OR w.woken_boot_us > ?5) "
      "ORDER BY n.id");
  query.bind(Blob{name}, before, std::int64_t{max_overtakes}, transaction.now_us,
             transaction.now_us - comes_within_us);
  while (query.next()) {
    ++(query.integer(1) == number(Mode::read) ? kept.reads : kept.writes);
    if (kept.waiter != 0) continue;
    kept.waiter = query.integer(0);
    kept.label = query.text(2);
    const std::int64_t expires_us = query.integer(3);
    const std::optional<std::int64_t> woken_us = query.optional_integer(4);
    kept.counts_until_us = woken_us ? *woken_us + comes_within_us : expires_us;
    kept.to_prod =
        !woken_us && transaction.now_us - (expires_us - waiter_lifetime_us) >= prod_after_us;
  }
  return kept;
}

bool is_first_in_line(Transaction& transaction, std::string_view name, std::int64_t waiter) {
  Query query = transaction.db.use("SELECT min(id) FROM waiter_names WHERE name = ?");
  return query.bind(Blob{name}).next() && query.integer(0) >= waiter;
}

bool nobody_waits(Transaction& transaction) {
  return !transaction.db.use("SELECT 1 FROM waiters LIMIT 1").next();
}

void count_overtaking(Transaction& transaction, std::span<const LockRequest> items,
                      std::int64_t waiter) {
  std::set<std::int64_t> overtaken;
  for (const LockRequest& item : items) {
    Query query = transaction.db.use(
        "SELECT n.id FROM waiter_names n CROSS JOIN waiters w ON w.id = n.id "
        "WHERE n.name = ?1 AND (?2 = 0 OR n.id < ?2) "
        "AND w.expires_boot_us > ?3 AND (w.woken_boot_us IS NULL OR w.woken_boot_us > ?4)");
    query.bind(Blob{item.name}, waiter, transaction.now_us, transaction.now_us - comes_within_us);
    while (query.next()) overtaken.insert(query.integer(0));
  }
  for (const std::int64_t id : overtaken) {
    transaction.db.use("UPDATE waiters SET overtaken = overtaken + 1 WHERE id = ?").bind(id).run();
  }
}

bool needs_refresh(const Transaction& transaction, const WaiterState& state) {
  return transaction.now_us - (state.expires_us - waiter_lifetime_us) >= prod_after_us;
}

void refresh_waiter(Transaction& transaction, std::int64_t id) {
  transaction.db.use("UPDATE waiters SET expires_boot_us = ? WHERE id = ?")
      .bind(transaction.now_us + waiter_lifetime_us, id)
      .run();
}

void clear_woken(Transaction& transaction, std::int64_t id) {
  transaction.db.use("UPDATE waiters SET woken_boot_us = NULL WHERE id = ?").bind(id).run();
}

std::vector<LockRequest> remove_waiter(Transaction& transaction, std::int64_t id) {
  std::vector<LockRequest> items;
  {
    Query query = transaction.db.use("SELECT items FROM waiters WHERE id = ?");
    if (!query.bind(id).next()) return items;
    items = unpacked(query.bytes(0));
  }
  transaction.db.use("DELETE FROM waiters WHERE id = ?").bind(id).run();
  for (const LockRequest& item : items) {
    transaction.db.use("DELETE FROM waiter_names WHERE name = ? AND id = ?")
        .bind(Blob{item.name}, id)
        .run();
  }
  return items;
}

void leave_line(Transaction& transaction, std::int64_t id) {
  const std::optional<WaiterState> state = find_waiter(transaction, id);
  const std::vector<LockRequest> items = remove_waiter(transaction, id);
  // Any of these names may have woken it.
  if (state && state->woken) wake_for(transaction, items);
}

void wake_next(Transaction& transaction, std::string_view name, std::int64_t after,
               std::optional<Mode> mode) {
  std::int64_t id = 0;
  {
    Query query = transaction.db.use(
        "SELECT n.id FROM waiter_names n CROSS JOIN waiters w ON w.id = n.id "
        "WHERE n.name = ?1 AND n.id > ?2 AND (?3 IS NULL OR n.mode = ?3) "
        "AND w.expires_boot_us > ?4 AND (w.woken_boot_us IS NULL OR w.woken_boot_us > ?5) "
        "ORDER BY n.id LIMIT 1");
    query.bind(Blob{name}, after, mode ? std::optional(number(*mode)) : std::nullopt,
               transaction.now_us, transaction.now_us - comes_within_us);
    if (!query.next()) return;
    id = query.integer(0);
  }
  wake_waiter(transaction, id);
}

void wake_waiter(Transaction& transaction, std::int64_t id) {
  // A waiter that is on its way already will see this name, too.
  transaction.db.use("UPDATE waiters SET woken_boot_us = ? WHERE id = ? AND woken_boot_us IS NULL")
      .bind(transaction.now_us, id)
      .run();
  transaction.wakes.push_back(WakeSlots::slot_of(id));
}

void wake_for(Transaction& transaction, std::span<const LockRequest> freed) {
  for (const LockRequest& item : freed) wake_next(transaction, item.name);
}

void wake_all(Transaction& transaction) {
  Query query = transaction.db.use("SELECT id FROM waiters");
  while (query.next()) transaction.wakes.push_back(WakeSlots::slot_of(query.integer(0)));
}

int remove_expired_waiters(Transaction& transaction) {
  std::vector<std::int64_t> ids;
  {
    Query query = transaction.db.use("SELECT id FROM waiters WHERE expires_boot_us <= ? LIMIT 500");
    query.bind(transaction.now_us);
    while (query.next()) ids.push_back(query.integer(0));
  }
  for (const std::int64_t id : ids) remove_waiter(transaction, id);
  return static_cast<int>(ids.size());
}

std::vector<WaiterInfo> list_waiters(Transaction& transaction, const InspectQuery& wanted) {
  std::vector<WaiterInfo> waiters;
  Query query = transaction.db.use(
      "SELECT app, instance, epoch, label, since_wall_us, items FROM waiters "
      "WHERE expires_boot_us > ? ORDER BY id");
  query.bind(transaction.now_us);
  while (query.next()) {
    WaiterInfo info;
    info.items = unpacked(query.bytes(5));
    if (!wanted.matches(info.items)) continue;
    info.owner = Owner{query.text(0), query.text(1), query.integer(2), query.text(3)};
    info.since = std::chrono::system_clock::time_point(std::chrono::microseconds(query.integer(4)));
    waiters.push_back(std::move(info));
  }
  return waiters;
}

}  // namespace lockset::sqlite
