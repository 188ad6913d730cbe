// The open database: its connections, its gate, its clock, and how it runs a transaction.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/sqlite/address.h"
#include "backends/sqlite/connection.h"
#include "backends/sqlite/database_file.h"
#include "backends/sqlite/errors.h"
#include "backends/sqlite/file_gate.h"
#include "backends/sqlite/liveness.h"
#include "backends/sqlite/side_file.h"
#include "backends/sqlite/store_clock.h"
#include "backends/sqlite/turn_queue.h"
#include "backends/sqlite/wake_slots.h"
#include "lockset/clock.h"
#include "lockset/error.h"

namespace lockset::sqlite {

// What the steps of a transaction share.
struct Transaction {
  Db& db;
  // Read after the transaction got its lock: from then on nobody else changes the database.
  std::int64_t now_us;
  std::int64_t wall_us;
  const Liveness& liveness;
  // Every commit is synced, whatever the step says.
  bool syncs_all = false;
  // A step sets this if its commit has to be on the disk before it is answered or seen. A power cut
  // ends every process that knows of the others: see docs/adr/0076-sqlite-horizon.md.
  bool must_survive = false;
  // To wake once the transaction is committed.
  std::vector<std::uint32_t> wakes = {};
};

// Thread-safe.
class Store {
 public:
  // Opens the database; first makes it, or adopts it after a reboot, if necessary.
  static Result<std::unique_ptr<Store>> open(const Options& options, TimePoint by);

  using Line = FileGate::Line;

  // Runs body(Transaction&) -> Result<T> in a transaction that holds SQLite's write lock from its
  // first statement on. Commits if rows were changed and the body returned no error, and rolls back
  // otherwise: so a busy answer costs no fsync. A step that must survive a power cut is undone and
  // done again with a synced commit, so the body must do no harm when it runs twice. Sets `crowded`
  // if it fails only because others kept going first.
  template <class T, class Body>
  Result<T> write(TimePoint by, Body&& body, Line line = Line::all, bool* crowded = nullptr) {
    std::vector<std::uint32_t> wakes;
    bool many = false;
    Result<T> result = in_turn<T>(by, wakes, body, line, crowded != nullptr ? *crowded : many);
    // The gate is left already: woken waiters find it open.
    if (result.ok()) {
      for (const std::uint32_t slot : wakes) slots_.wake(slot);
    }
    return result;
  }

  // Runs body(Transaction&) -> Result<T> on a consistent snapshot, without blocking writers. The
  // body must change nothing.
  template <class T, class Body>
  Result<T> read(TimePoint by, Body&& body) {
    const TurnQueue::Turn turn = reader_turn_.enter(by);
    if (!turn) return late();
    if (Status status = begin(reader_, "BEGIN", by); !status) return status.error();
    Transaction transaction = describe(reader_);
    Result<T> result = body(transaction);
    if (Status status = roll_back(reader_); !status) return status.error();
    return result;
  }

  [[nodiscard]] const Liveness& liveness() const noexcept { return *liveness_; }
  [[nodiscard]] const WakeSlots& slots() const noexcept { return slots_; }

 private:
  explicit Store(std::string path) : path_(std::move(path)), clock_(StoreClock::make()) {}

  template <class T, class Body>
  Result<T> in_turn(TimePoint by, std::vector<std::uint32_t>& wakes, Body& body, Line line,
                    bool& crowded) {
    const std::uint32_t passages = gate_->passages();
    const TurnQueue::Turn turn = writer_turn_.enter(by);
    if (!turn) {
      crowded = gate_->passages() != passages;
      return late();
    }
    FileGate::Pass pass;
    if (Status status = begin_in_turn(pass, line, by); !status) {
      crowded = status.error().code == Errc::unavailable && gate_->passages() != passages;
      return crowded ? crowd() : status.error();
    }
    for (;;) {
      Transaction transaction = describe(writer_);
      const int changes = writer_.total_changes();
      Result<T> result = body(transaction);
      const bool keep = result.ok() && writer_.total_changes() != changes;
      if (keep && transaction.must_survive && !syncs_) {
        if (Status status = begin_synced(by); !status) return status.error();
        continue;
      }
      if (Status status = keep ? commit(by) : roll_back(writer_); !status) return status.error();
      if (keep) wakes = std::move(transaction.wakes);
      return result;
    }
  }

  Status connect(const Options& options, TimePoint by);
  Status begin(Db& db, const char* sql, TimePoint by);
  // Begins a write transaction, in turn behind the gate, or past a gate that does not move.
  Status begin_in_turn(FileGate::Pass& pass, Line line, TimePoint by);
  // Begins the write transaction anew, so that its commit is synced. SQLite changes that only
  // outside a transaction.
  Status begin_synced(TimePoint by);
  Status commit(TimePoint by);
  // Whether the commits of writer_ are synced from now on.
  void sync(bool each);
  Status roll_back(Db& db);
  [[nodiscard]] Transaction describe(Db& db) const;
  [[nodiscard]] Error late() const;
  [[nodiscard]] Error crowd() const;

  std::string path_;
  StoreClock clock_;
  FileIdentity identity_;
  std::unique_ptr<SideFile> side_file_;
  std::optional<FileGate> gate_;
  std::optional<Liveness> liveness_;
  TurnQueue writer_turn_;
  Db writer_;
  bool sync_all_ = true;
  bool syncs_ = true;  // what writer_ does now
  TurnQueue reader_turn_;
  Db reader_;
  // side_file_ is opened before the store is returned to anybody.
  WakeSlots slots_{side_file_};
};

}  // namespace lockset::sqlite
