// What a server says beside its answers.
#pragma once

#include <libpq-fe.h>

namespace lockset::postgresql {

// Listens to one connection; must outlive it. Says nothing further: libpq would print it.
class Notices {
 public:
  Notices() = default;
  Notices(const Notices&) = delete;
  Notices& operator=(const Notices&) = delete;

  // Before the connection's first statement.
  void listen_to(PGconn* connection) { PQsetNoticeReceiver(connection, &hear, this); }

  // Of one call: nothing has been heard yet.
  void begin() noexcept { local_only_ = false; }
  // A commit is on this server's disk, and the wait for its synchronous standbys was broken off.
  [[nodiscard]] bool local_only() const noexcept { return local_only_; }

 private:
  static void hear(void* self, const PGresult* notice);

  bool local_only_ = false;
};

}  // namespace lockset::postgresql
