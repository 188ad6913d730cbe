// memcached://host[:port]/SPACE?...
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "lockset/clock.h"
#include "lockset/error.h"
#include "lockset/url.h"

namespace lockset::memcached {

struct Options {
  std::string host = "127.0.0.1";
  std::uint16_t port = 11211;
  std::string space = "lockset";
  std::size_t pool = 4;
  Duration connect_timeout = std::chrono::seconds(5);
  // For `lockset init`: nobody can hold a lock of this space, so it need not begin with a
  // quarantine.
  bool first = false;

  // For messages: "memcached (cache.example:11211, space lockset)".
  [[nodiscard]] std::string shown() const;
};

// Errc::invalid, with what to write instead.
Result<Options> parse_address(const Url& url);

}  // namespace lockset::memcached
