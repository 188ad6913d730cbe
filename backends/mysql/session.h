// A session with the server that carries holds (strategy=session). Unlike Connection it uses the C
// library without blocking: a call that is not answered in time leaves the session, and its holds,
// alive.
#pragma once

#include <mysql.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/mysql/address.h"
#include "backends/mysql/connection.h"
#include "backends/server/carrier.h"
#include "lockset/clock.h"
#include "lockset/error.h"

namespace lockset::mysql {

using server::LockKey;

// The names of a space's user-level locks. `prefix` is the same for all of them, and for no other
// space of the server.
class LockNames {
 public:
  LockNames() = default;
  explicit LockNames(std::string prefix) : prefix_(std::move(prefix)) {}

  // The key of one of the space's names, or of more.
  [[nodiscard]] std::int64_t key(std::string_view name) const;
  // Held by a writer, and for a moment by a reader that waited.
  [[nodiscard]] static std::string write(std::int64_t key);
  // Held by readers in the session with this number.
  [[nodiscard]] static std::string read(std::int64_t key, int number);
  // Held while a server looks who has the key, where there may be readers.
  [[nodiscard]] static std::string gate(std::int64_t key);
  // Held by a waiter that was beaten to this key often: others that wait let it pass.
  [[nodiscard]] static std::string place(std::int64_t key);
  // Held by the session that has this number.
  [[nodiscard]] std::string number(int number) const;
  // Held by the keeper of the present token.
  [[nodiscard]] std::string keeper() const;

 private:
  std::string prefix_;
};

// A statement with ? for texts; the answer is one text.
struct SessionStatement {
  std::size_t number;  // its index among those of a session
  std::string sql;
};

// Used by one thread at a time, except where it says otherwise.
class Session final : public server::Carrier {
 public:
  // Ends at `by`. `options` must outlive it. The isolation level is the server's own: a session
  // calls procedures, which set theirs, and reads nothing itself.
  static Result<std::unique_ptr<Session>> connect(const Options& options, TimePoint by);
  ~Session() override;

  // Sends the statement, and waits for its answer until `by`. An error that the server reports is
  // an Error; `late` and `broken` are told by outcome().
  Result<Reply> run(const std::string& sql, Sent sent, TimePoint by);
  Result<Reply> call(const SessionStatement& statement, std::span<const std::string> arguments,
                     Sent sent, TimePoint by);
  // Before its first call. In the order of their numbers, from 1; 0 is this class's own.
  Status prepare(const SessionStatement& statement, TimePoint by);
  // Send without waiting; receive() waits. `also`: a descriptor that ends the wait, or -1.
  bool send(const std::string& sql, TimePoint by);
  bool send(const SessionStatement& statement, std::span<const std::string> arguments,
            TimePoint by);
  Result<Reply> receive(Sent sent, TimePoint by, int also = -1);

  // What the answer that is owed has to be followed by: if it grants, these keys are unlocked.
  void undo_when_answered(std::vector<LockKey> keys) { undo_ = std::move(keys); }
  // Everything that this session holds.
  bool unlock_all(TimePoint by);
  // It has the places of these keys (LockNames::place), besides what it holds.
  void has_places(std::span<const LockKey> keys) { places_.assign(keys.begin(), keys.end()); }
  [[nodiscard]] bool has_places() const noexcept { return !places_.empty(); }
  // Gives them back. False: the session is given up.
  bool leave_places(TimePoint by);

  [[nodiscard]] Outcome outcome() const noexcept override { return outcome_; }
  [[nodiscard]] bool owes() const noexcept override { return stage_ != Stage::idle; }
  bool settle(TimePoint by) override;
  bool unlock(std::span<const LockKey> keys, TimePoint by) override;
  bool end_after(Duration silence, TimePoint by) override;
  [[nodiscard]] bool hung_up() const noexcept override;
  [[nodiscard]] int fd() const noexcept override { return fd_; }
  void give_up() noexcept override;

  // The server's number of it. Thread-safe.
  [[nodiscard]] std::int64_t id() const noexcept { return id_; }
  // Its number among the sessions that may have readers, -1 if it has none.
  [[nodiscard]] int number() const noexcept { return number_; }
  void has_number(int number) noexcept { number_ = number; }
  // Which error number the last call ended with; 0: none.
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  // What the library is doing.
  enum class Stage { idle, query, store, next, prepare, execute, store_rows };
  explicit Session(const Options& options);
  Status open(bool encrypt, TimePoint by);
  bool begin(TimePoint by);
  // The library has waited for these events. True: the call is over.
  bool go_on(int events);
  bool after(int wait);
  void take_rows();
  void take_prepared();
  void fail(int code, const char* said);
  Result<Reply> ended(Sent sent);
  Error unanswered(Sent sent);

  struct Closer {
    void operator()(MYSQL_STMT* statement) const noexcept { mysql_stmt_close(statement); }
  };

  const Options& options_;
  const std::string where_;
  const bool encrypts_;
  MYSQL* raw_ = nullptr;
  int fd_ = -1;
  std::int64_t id_ = 0;
  int number_ = -1;
  std::vector<std::unique_ptr<MYSQL_STMT, Closer>> prepared_;
  std::vector<LockKey> undo_;
  std::vector<LockKey> places_;
  Outcome outcome_ = Outcome::answered;

  Stage stage_ = Stage::idle;
  int waits_for_ = 0;
  int failed_ = 0;
  MYSQL_STMT* statement_ = nullptr;  // the one that is under way
  MYSQL_RES* set_ = nullptr;
  std::string sql_;  // of the call under way
  std::vector<std::string> arguments_;
  bool first_set_ = true;
  Reply reply_;
  int code_ = 0;
  std::string said_;
};

// 'name', for names that we made ourselves.
std::string lock_literal(std::string_view name);

}  // namespace lockset::mysql
