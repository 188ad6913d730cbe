// What a server reports besides its answers.
#pragma once

#include <libpq-fe.h>

namespace lockset::postgresql {

// Listens to one connection, and must outlive it. Notices go nowhere else: libpq would print them.
class Notices {
 public:
  Notices() = default;
  Notices(const Notices&) = delete;
  Notices& operator=(const Notices&) = delete;

  // Call it before the connection's first statement.
  void listen_to(PGconn* connection) { PQsetNoticeReceiver(connection, &hear, this); }

  // For one call: nothing has been reported yet.
  void begin() noexcept { local_only_ = false; }
  // A commit is on this server's disk, but the wait for its synchronous standbys was cancelled.
  [[nodiscard]] bool local_only() const noexcept { return local_only_; }

 private:
  static void hear(void* self, const PGresult* notice);

  bool local_only_ = false;
};

}  // namespace lockset::postgresql
