// A client's connections by their purpose: renewals never queue behind acquires.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "backends/server/pool.h"

namespace lockset::server {

// The connections that a call uses.
enum class Lane : std::uint8_t {
  common,
  acquire,  // PostgreSQL, strategy=serializable: sessions of that level; elsewhere as common
  renewal,
};

// One for the client's renewer, which has one thread, and one for a program that renews a hold
// itself (Hold::renew). So neither waits for the other's answer, which may take until its deadline.
inline constexpr std::size_t renewal_connections = 2;

// The most connections of one client: `pool`, those for renewals, and one more if it `listens`.
constexpr std::size_t most_connections(std::size_t pool, bool listens) noexcept {
  return pool + renewal_connections + (listens ? 1 : 0);
}

// Thread-safe.
template <class Connection>
struct Lanes {
  using Connections = Pool<Connection>;
  using Lease = typename Connections::Lease;

  // As for Pool.
  Lanes(std::size_t pool, const typename Connections::Open& open, const std::string& store)
      : common(pool, open, store), renewal(renewal_connections, open, store) {}

  // As Pool::take. A renewal opens no connection while any is idle: so a client that holds or waits
  // for one set needs only one.
  Result<Lease> take(Lane lane, TimePoint by) {
    if (lane != Lane::renewal) return common.take(by);
    for (Connections* const pool : {&renewal, &common}) {
      if (std::optional<Lease> idle = pool->take_idle()) return *std::move(idle);
    }
    Result<Lease> lease = renewal.take(by);
    if (lease || !lease.error().retryable()) return lease;
    // If the server accepts no more connections, the existing ones must be enough.
    Result<Lease> other = common.take(by);
    return other ? std::move(other) : std::move(lease);
  }

  Connections common;
  Connections renewal;
};

}  // namespace lockset::server
