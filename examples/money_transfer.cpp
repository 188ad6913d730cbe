// Money goes from one account to another, under both locks, and the bank refuses stale holders: a
// holder that was stopped and wakes up too late changes nothing. docs/fencing.md
//
//   money_transfer [URL]      the bank is a SQLite database in memory, to run anywhere
#include <lockset/lockset.h>
#include <sqlite3.h>

#include <exception>
#include <iostream>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

// Any SQL database would do. `fence` is the greatest stamp that has changed the account.
class Bank {
 public:
  Bank() {
    if (sqlite3_open(":memory:", &db_) != SQLITE_OK) throw std::runtime_error("no bank");
    run("CREATE TABLE accounts (name TEXT PRIMARY KEY, balance INTEGER, fence INTEGER DEFAULT 0)");
  }
  Bank(const Bank&) = delete;
  Bank& operator=(const Bank&) = delete;
  ~Bank() { sqlite3_close(db_); }

  void open_account(const std::string& name, int balance) {
    run("INSERT INTO accounts (name, balance) VALUES ('" + name + "', " + std::to_string(balance) +
        ")");
  }

  // Both changes or none. False: a later holder has been here.
  bool transfer(const std::string& from, const std::string& to, int amount, lockset::Stamp stamp) {
    const std::lock_guard lock(mutex_);  // one connection: one transaction at a time
    run("BEGIN IMMEDIATE");
    const bool done = add(from, -amount, stamp) && add(to, amount, stamp);
    run(done ? "COMMIT" : "ROLLBACK");
    return done;
  }

  int balance(const std::string& name) {
    return number("SELECT balance FROM accounts WHERE name = '" + name + "'");
  }
  int total() { return number("SELECT sum(balance) FROM accounts"); }

 private:
  // The check and the change are one statement: nothing comes between them.
  bool add(const std::string& name, int amount, lockset::Stamp stamp) {
    const std::string fence = std::to_string(stamp.value);
    run("UPDATE accounts SET balance = balance + " + std::to_string(amount) + ", fence = " + fence +
        " WHERE name = '" + name + "' AND fence <= " + fence);
    return sqlite3_changes(db_) == 1;
  }
  void run(const std::string& sql) {
    if (sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
      throw std::runtime_error(sql + ": " + sqlite3_errmsg(db_));
    }
  }
  int number(const std::string& sql) {
    const std::lock_guard lock(mutex_);
    sqlite3_stmt* row = nullptr;
    if (sqlite3_prepare_v2(db_, sql.c_str(), -1, &row, nullptr) != SQLITE_OK) {
      throw std::runtime_error(sql);
    }
    sqlite3_step(row);
    const int value = sqlite3_column_int(row, 0);
    sqlite3_finalize(row);
    return value;
  }

  sqlite3* db_ = nullptr;
  std::mutex mutex_;
};

// Both accounts as one set: two transfers in opposite directions can't wait for each other.
lockset::Hold lock_both(lockset::Locks& locks, const std::string& from, const std::string& to) {
  return locks.acquire({lockset::write("account/" + from), lockset::write("account/" + to)})
      .value();
}

}  // namespace

int main(int argc, char** argv) try {
  lockset::Locks locks = lockset::open(argc > 1 ? argv[1] : "memory:").value();
  Bank bank;
  for (const char* name : {"alice", "bob"}) bank.open_account(name, 1000);

  const auto move_often = [&](const std::string& from, const std::string& to, int amount) {
    for (int i = 0; i < 20; ++i) {
      const lockset::Hold hold = lock_both(locks, from, to);
      if (!bank.transfer(from, to, amount, hold.stamp())) throw std::logic_error("refused");
    }
  };
  {
    std::jthread one([&] { move_often("alice", "bob", 3); });
    std::jthread two([&] { move_often("bob", "alice", 1); });
  }
  std::cout << "alice " << bank.balance("alice") << ", bob " << bank.balance("bob") << "\n";

  // A holder is stopped for so long that its locks go to another one; then it wakes up.
  const lockset::Hold stopped = lock_both(locks, "alice", "bob");
  locks.break_hold(stopped.stamp()).value();  // as the end of its lease would
  const lockset::Hold next = lock_both(locks, "bob", "alice");
  const bool newer = bank.transfer("bob", "alice", 60, next.stamp());
  const bool stale = bank.transfer("alice", "bob", 999, stopped.stamp());
  std::cout << "the next holder: " << (newer ? "done" : "refused")
            << ", the stale one: " << (stale ? "done" : "refused") << "\n";
  const bool right = newer && !stale && bank.balance("alice") == 1020 && bank.total() == 2000;
  return right ? 0 : 1;
} catch (const std::exception& error) {  // of .value(), for example if the store is away
  std::cerr << error.what() << "\n";
  return 2;
}
