// A connection to the server, through libmemcached.
//
// The library connects again by itself whenever a connection is gone, and does not say so. Nothing
// here depends on that: see keys.h.
#pragma once

#include <libmemcached/memcached.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/answers.h"
#include "backends/memcached/address.h"
#include "lockset/clock.h"
#include "lockset/error.h"

namespace lockset::memcached {

struct Item {
  std::string value;
  std::uint64_t cas = 0;
};

// Used by one thread at a time. Useless after a failed call.
class Connection {
 public:
  static Result<std::unique_ptr<Connection>> connect(const Options& options, TimePoint by);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  // Those of the items that there are, in one round trip.
  Result<std::map<std::string, Item>> get(const std::vector<std::string>& keys, TimePoint by);
  // False: the item has been changed, or is gone.
  Result<bool> replace(const std::string& key, const std::string& value, std::uint64_t cas,
                       TimePoint by);
  // False: the item is there already.
  Result<bool> add(const std::string& key, const std::string& value, TimePoint by);
  // What `stats` says; `what` is "" or "settings".
  Result<std::map<std::string, std::string>> stats(const std::string& what, TimePoint by);

  // The library does not show its socket. A connection that has died in silence fails the first
  // request on it, which is always a read.
  [[nodiscard]] bool hung_up() const noexcept { return broken_; }

 private:
  struct Free {
    void operator()(memcached_st* client) const;
  };

  explicit Connection(const Options& options);
  // The library waits at most until then; Errc::unavailable if that has passed.
  Status arm(TimePoint by);
  Error failure(memcached_return_t code, Sent sent);
  Result<bool> stored(memcached_return_t code);

  const Options& options_;
  std::unique_ptr<memcached_st, Free> client_;
  bool broken_ = false;
};

}  // namespace lockset::memcached
