#include "backends/sqlite/store.h"

#include <algorithm>
#include <chrono>

#include "backends/sqlite/schema.h"
#include "lockset/lock_set.h"

namespace lockset::sqlite {

Result<std::unique_ptr<Store>> Store::open(const Options& options, TimePoint by) {
  Result<std::string> path = prepare_file(options);
  if (!path) return path.error();
  std::unique_ptr<Store> store(new Store(*std::move(path)));
  if (Status status = store->connect(options, by); !status) return status.error();
  return store;
}

Status Store::connect(const Options& options, TimePoint by) {
  if (Status status = writer_.open(path_); !status) return status;
  writer_.wait_until(by);
  // Touch nothing in or beside the file before it is known to be a lock space.
  Result<bool> ready = is_lock_space(writer_, path_);
  if (!ready) return ready.error();
  Result<std::unique_ptr<SideFile>> side_file = SideFile::open(path_);
  if (!side_file) return side_file.error();
  side_file_ = *std::move(side_file);
  gate_.emplace(*side_file_);
  liveness_.emplace(*side_file_);
  {
    // In turn: SQLite alone might let a newcomer wait for ever. An existing space needs no write,
    // and does not wait for writers.
    FileGate::Pass pass;
    if (!*ready) pass = gate_->enter(by);
    if (Status status = set_up_connection(writer_, path_, true, by); !status) return status;
    if (!*ready) {
      writer_.execute("BEGIN IMMEDIATE");
      if (Status status = make_schema(writer_, path_, clock_); !status) return status;
    }
  }
  if (Status status = reader_.open(path_); !status) return status;
  if (Status status = set_up_connection(reader_, path_, options.sync_all, by); !status) {
    return status;
  }
  if (Status status = identity_.record(path_); !status) return status;
  const Result<bool> known = read<bool>(by, [&](Transaction& transaction) -> Result<bool> {
    return !is_outdated(transaction.db) && knows_boot(transaction.db, clock_.boot_id());
  });
  if (!known) return known.error();
  if (!*known) {
    const Result<bool> adopted = write<bool>(by, [&](Transaction& transaction) -> Result<bool> {
      upgrade(transaction.db);
      return adopt_boot(transaction, clock_.boot_id());
    });
    if (!adopted) return adopted.error();
  }
  // Where boots can't be told apart, nobody knows whether commits were lost.
  sync_all_ = options.sync_all || !clock_.knows_boot();
  sync(sync_all_);
  return {};
}

void Store::sync(bool each) {
  if (syncs_ == each) return;
  writer_.execute(each ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
  // If it failed, the next transaction tells; meanwhile too much is synced, not too little.
  syncs_ = each || writer_.code() != SQLITE_OK;
}

Status Store::begin_synced(TimePoint by) {
  if (Status status = roll_back(writer_); !status) return status;
  sync(true);
  if (writer_.code() == SQLITE_OK) return begin(writer_, "BEGIN IMMEDIATE", by);
  syncs_ = false;
  return roll_back(writer_);
}

Status Store::begin(Db& db, const char* sql, TimePoint by) {
  db.clear();
  db.wait_until(by);
  db.use(sql).run();
  if (db.code() != SQLITE_OK) {
    const Error error = error_from(db.code(), db.message(), path_, Phase::work);
    // A failed BEGIN leaves no transaction; ROLLBACK in case it did.
    const Status rolled_back = roll_back(db);
    return rolled_back ? error : rolled_back.error();
  }
  if (Status status = identity_.check(); !status) {
    const Status rolled_back = roll_back(db);
    return rolled_back ? status.error() : rolled_back.error();
  }
  return {};
}

Status Store::begin_in_turn(FileGate::Pass& pass, Line line, TimePoint by) {
  writer_.clear();
  sync(sync_all_);
  // SQLite's own wait is not fair. On a busy machine, a pause of the process inside may let a
  // caller pass the gate; that caller returns to the gate.
  constexpr Duration before_the_next_look = std::chrono::milliseconds(500);
  for (;;) {
    pass = gate_->enter(by, line);
    const TimePoint now = BootClock::now();
    const TimePoint until = pass || now >= by ? by : std::min(by, now + before_the_next_look);
    Status status = begin(writer_, "BEGIN IMMEDIATE", until);
    if (status || until == by || status.error().code != Errc::unavailable) return status;
  }
}

Status Store::commit(TimePoint by) {
  if (writer_.code() != SQLITE_OK) return roll_back(writer_);
  for (;;) {
    writer_.use("COMMIT").run();
    const int code = writer_.code();
    if (code == SQLITE_OK) return {};
    const bool busy = (code & 0xFF) == SQLITE_BUSY;
    if (busy && writer_.in_transaction() && BootClock::now() < by) {
      writer_.clear();
      continue;
    }
    Error error = error_from(code, writer_.message(), path_, Phase::commit);
    writer_.clear();
    if (writer_.in_transaction()) writer_.use("ROLLBACK").run();
    return error;
  }
}

// The failure that the connection kept, if any, after everything is undone.
Status Store::roll_back(Db& db) {
  const int code = db.code();
  const std::string message = code == SQLITE_OK ? std::string() : db.message();
  db.clear();
  if (db.in_transaction()) db.use("ROLLBACK").run();
  if (code != SQLITE_OK) return error_from(code, message, path_, Phase::work);
  return {};
}

Transaction Store::describe(Db& db) const {
  return Transaction{db, clock_.now_us(), StoreClock::wall_us(), *liveness_, sync_all_};
}

Error Store::late() const {
  return Error{Errc::unavailable, "the lock database " + in_quotes(path_) +
                                      " was kept busy by other threads of this process until the "
                                      "deadline; nothing was applied"};
}

Error Store::crowd() const {
  return Error{Errc::unavailable, "the lock database " + in_quotes(path_) +
                                      " is under heavy contention: this call got no turn before "
                                      "its deadline; nothing was applied"};
}

}  // namespace lockset::sqlite
