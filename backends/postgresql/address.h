// postgresql://user[:password]@host[:port]/database?space=NAME&strategy=...
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "backends/postgresql/script.h"
#include "lockset/clock.h"
#include "lockset/error.h"
#include "lockset/url.h"

namespace lockset::postgresql {

struct Options {
  // Keyword=value pairs for libpq, including a password if one was given: never shown. One string
  // per host, in the order in which they are tried; at least one.
  std::vector<std::string> conninfos;
  // For messages: "app@db.example:5432/prod, space lockset".
  std::string shown;
  std::string space = "lockset";
  // What a failover means for the space; `init` sets it. Unset: what was set, at first a
  // quarantine.
  std::optional<FailoverMeans> failover;
  std::optional<Strategy> strategy;  // unset: the one that the space was made with
  std::size_t pool = 16;
  Duration connect_timeout = std::chrono::seconds(5);
  // A transaction-mode pooler is in between: nothing may depend on the session.
  bool pooler = false;
  // Wake-ups by LISTEN; without them, waiters poll.
  bool listen = true;
};

// Errc::invalid, with what to write instead.
Result<Options> parse_address(const Url& url);

}  // namespace lockset::postgresql
