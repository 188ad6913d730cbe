#include "backends/sqlite/holds.h"

#include <algorithm>
#include <chrono>

namespace lockset::sqlite {
namespace {

Mode mode_of(std::int64_t number) { return number == 1 ? Mode::write : Mode::read; }

}  // namespace

std::string_view bytes_of(const Token& token) {
  return {reinterpret_cast<const char*>(token.bytes.data()), token.bytes.size()};
}

std::string packed(std::span<const LockRequest> items) {
  std::string bytes;
  for (const LockRequest& item : items) {
    bytes += static_cast<char>(number(item.mode));
    bytes += static_cast<char>(item.name.size());  // at most 255
    bytes += item.name;
  }
  return bytes;
}

Items unpacked(std::string_view bytes) {
  Items items;
  while (bytes.size() >= 2) {
    const Mode mode = mode_of(bytes[0]);
    const auto size = static_cast<std::uint8_t>(bytes[1]);
    if (bytes.size() < 2U + size) break;
    items.push_back({std::string(bytes.substr(2, size)), mode});
    bytes.remove_prefix(2U + size);
  }
  return items;
}

void Group::add(Stamp stamp, std::optional<std::int64_t> ends_us) {
  if (++count == 1) lowest = stamp;
  if (ends_us) first_end_us = std::min(*ends_us, first_end_us.value_or(*ends_us));
}

Stamp NameState::floor() const {
  if (reads.count == 0) return writes.lowest;
  if (writes.count == 0) return reads.lowest;
  return std::min(reads.lowest, writes.lowest);
}

namespace {

std::optional<Life> life_of(const Query& row, int column) {
  const std::optional<std::int64_t> byte = row.optional_integer(column + 1);
  if (!byte) return {};
  return Life{row.integer(column), *byte};
}

// Asks once for each process.
class Census {
 public:
  explicit Census(const Transaction& transaction) : liveness_(transaction.liveness) {}

  bool is_over(const std::optional<Life>& life) {
    if (!life) return false;
    for (const auto& [known, over] : known_) {
      if (known == *life) return over;
    }
    const bool over = liveness_.is_over(*life);
    known_.emplace_back(*life, over);
    return over;
  }

 private:
  const Liveness& liveness_;
  std::vector<std::pair<Life, bool>> known_;
};

}  // namespace

std::vector<Life> lives_of(Transaction& transaction, std::string_view name) {
  std::vector<Life> lives;
  Query query = transaction.db.use(
      "SELECT DISTINCT h.life_file, h.life_byte FROM hold_names n "
      "CROSS JOIN holds h ON h.stamp = n.stamp WHERE n.name = ? AND h.life_byte IS NOT NULL "
      "LIMIT 16");
  query.bind(Blob{name});
  while (query.next()) lives.push_back({query.integer(0), query.integer(1)});
  return lives;
}

NameState look_at_name(Transaction& transaction, std::string_view name, std::vector<Stamp>* expired,
                       Stamp except) {
  NameState state;
  Census census(transaction);
  Query query = transaction.db.use(
      "SELECT n.mode, n.stamp, h.expires_boot_us, h.life_file, h.life_byte FROM hold_names n "
      "CROSS JOIN holds h ON h.stamp = n.stamp WHERE n.name = ? ORDER BY n.stamp");
  query.bind(Blob{name});
  while (query.next()) {
    const Stamp stamp{query.integer(1)};
    const std::optional<std::int64_t> ends_us = query.optional_integer(2);
    if ((ends_us && *ends_us <= transaction.now_us) || census.is_over(life_of(query, 3))) {
      if (expired) expired->push_back(stamp);
      continue;
    }
    if (stamp == except) continue;
    (mode_of(query.integer(0)) == Mode::write ? state.writes : state.reads).add(stamp, ends_us);
  }
  return state;
}

void add_hold(Transaction& transaction, const NewHold& hold) {
  if (!hold.life) transaction.must_survive = true;
  const std::string items = packed(hold.set.items());
  transaction.db.use("INSERT INTO holds VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)")
      .bind(hold.stamp.value, Blob{bytes_of(hold.token)}, Text{hold.owner.app},
            Text{hold.owner.instance}, hold.owner.epoch, Text{hold.owner.label},
            transaction.wall_us, hold.lease_us, transaction.now_us + hold.lease_us,
            transaction.wall_us + hold.lease_us, Blob{items},
            hold.life ? std::optional(hold.life->file) : std::nullopt,
            hold.life ? std::optional(hold.life->byte) : std::nullopt)
      .run();
  for (const LockRequest& item : hold.set.items()) {
    transaction.db.use("INSERT INTO hold_names VALUES (?,?,?)")
        .bind(Blob{item.name}, hold.stamp.value, number(item.mode))
        .run();
  }
}

std::optional<std::int64_t> take_place(Transaction& transaction, Stamp from, Stamp to) {
  std::optional<std::int64_t> ends_us;
  {
    // max() of anything with NULL is NULL: a permanent hold stays permanent.
    Query query = transaction.db.use(
        "UPDATE holds SET expires_boot_us = max(holds.expires_boot_us, old.expires_boot_us), "
        "expires_wall_us = max(holds.expires_wall_us, old.expires_wall_us), "
        "lease_us = max(holds.lease_us, old.lease_us), "
        "life_file = old.life_file, life_byte = old.life_byte "
        "FROM (SELECT * FROM holds WHERE stamp = ?1) AS old WHERE holds.stamp = ?2 "
        "RETURNING expires_boot_us, life_byte");
    query.bind(from.value, to.value);
    if (query.next()) {
      ends_us = query.optional_integer(0);
      if (query.is_null(1)) transaction.must_survive = true;
      query.run();  // to its end, otherwise the change does not count as finished
    }
  }
  remove_hold(transaction, from);
  return ends_us;
}

Items remove_hold(Transaction& transaction, Stamp stamp) {
  Items items;
  {
    Query query =
        transaction.db.use("SELECT items, life_byte, expires_boot_us FROM holds WHERE stamp = ?");
    if (!query.bind(stamp.value).next()) return items;
    items = unpacked(query.bytes(0));
    const std::optional<std::int64_t> ends_us = query.optional_integer(2);
    const bool ended = ends_us && *ends_us <= transaction.now_us;
    if (query.is_null(1) && !ended) transaction.must_survive = true;
  }
  transaction.db.use("DELETE FROM holds WHERE stamp = ?").bind(stamp.value).run();
  for (const LockRequest& item : items) {
    transaction.db.use("DELETE FROM hold_names WHERE name = ? AND stamp = ?")
        .bind(Blob{item.name}, stamp.value)
        .run();
  }
  return items;
}

void remove_holds_of_the_dead(Transaction& transaction) {
  std::vector<Stamp> over;
  {
    Census census(transaction);
    Query query = transaction.db.use(
        "SELECT stamp, life_file, life_byte FROM holds WHERE life_byte IS NOT NULL");
    while (query.next()) {
      if (census.is_over(life_of(query, 1))) over.push_back(Stamp{query.integer(0)});
    }
  }
  for (const Stamp stamp : over) remove_hold(transaction, stamp);
}

std::optional<StoredHold> find_hold(Transaction& transaction, Stamp stamp) {
  Query query = transaction.db.use(
      "SELECT app, expires_boot_us, life_file, life_byte FROM holds WHERE stamp = ?");
  if (!query.bind(stamp.value).next()) return {};
  const std::optional<std::int64_t> ends_us = query.optional_integer(1);
  const bool ended = ends_us && *ends_us <= transaction.now_us;
  return StoredHold{query.text(0), !ended && !Census(transaction).is_over(life_of(query, 2))};
}

std::optional<TokenHold> find_token(Transaction& transaction, std::string_view name,
                                    const Token& token) {
  Query query = transaction.db.use(
      "SELECT h.stamp, h.expires_boot_us FROM hold_names n CROSS JOIN holds h ON h.stamp = n.stamp "
      "WHERE n.name = ?1 AND h.token = ?2 "
      "AND (h.expires_boot_us IS NULL OR h.expires_boot_us > ?3)");
  if (!query.bind(Blob{name}, Blob{bytes_of(token)}, transaction.now_us).next()) return {};
  return TokenHold{Stamp{query.integer(0)}, query.optional_integer(1)};
}

std::vector<Stamp> find_expired(Transaction& transaction, std::int64_t& from, std::int64_t looks) {
  std::vector<Stamp> expired;
  std::int64_t last = 0;
  std::int64_t seen = 0;
  Query query = transaction.db.use(
      "SELECT stamp, expires_boot_us, life_file, life_byte FROM holds WHERE stamp > ? "
      "ORDER BY stamp LIMIT ?");
  Census census(transaction);
  query.bind(from, looks);
  while (query.next()) {
    ++seen;
    last = query.integer(0);
    const std::optional<std::int64_t> ends_us = query.optional_integer(1);
    if ((ends_us && *ends_us <= transaction.now_us) || census.is_over(life_of(query, 2))) {
      expired.push_back(Stamp{last});
    }
  }
  from = seen < looks ? 0 : last;
  return expired;
}

namespace {

HoldInfo info_from(const Query& row, std::int64_t now_us) {
  using std::chrono::microseconds;
  HoldInfo info;
  info.stamp = Stamp{row.integer(0)};
  info.owner = Owner{row.text(1), row.text(2), row.integer(3), row.text(4)};
  info.since = std::chrono::system_clock::time_point(microseconds(row.integer(5)));
  if (const auto ends_us = row.optional_integer(6))
    info.remaining = microseconds(*ends_us - now_us);
  info.items = unpacked(row.bytes(7));
  return info;
}

}  // namespace

std::vector<HoldInfo> list_holds(Transaction& transaction, const InspectQuery& wanted) {
  std::vector<HoldInfo> holds;
  const auto collect = [&](Query& query) {
    while (query.next()) {
      HoldInfo info = info_from(query, transaction.now_us);
      if (wanted.matches(info.items)) holds.push_back(std::move(info));
    }
  };
  if (wanted.match == InspectQuery::Match::all) {
    Query query = transaction.db.use(
        "SELECT stamp, app, instance, epoch, label, since_wall_us, expires_boot_us, items "
        "FROM holds WHERE expires_boot_us IS NULL OR expires_boot_us > ? ORDER BY stamp");
    query.bind(transaction.now_us);
    collect(query);
    return holds;
  }
  // No UTF-8 text contains the byte FF: no name with this prefix comes after it.
  const std::string end =
      wanted.match == InspectQuery::Match::name ? wanted.text : wanted.text + '\xFF';
  Query query = transaction.db.use(
      "SELECT stamp, app, instance, epoch, label, since_wall_us, expires_boot_us, items "
      "FROM holds WHERE stamp IN (SELECT stamp FROM hold_names WHERE name BETWEEN ?2 AND ?3) "
      "AND (expires_boot_us IS NULL OR expires_boot_us > ?1) ORDER BY stamp");
  query.bind(transaction.now_us, Blob{wanted.text}, Blob{end});
  collect(query);
  return holds;
}

}  // namespace lockset::sqlite
