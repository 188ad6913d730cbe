// redis://[user[:password]]@host[:port][/db]?space=NAME&...
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "lockset/clock.h"
#include "lockset/error.h"
#include "lockset/url.h"

namespace lockset::redis {

struct Options {
  std::string host = "127.0.0.1";
  std::uint16_t port = 6379;
  std::string socket;    // path for a server on this host, instead of host and port
  std::string user;      // "" is the server's default user
  std::string password;  // never shown
  unsigned database = 0;
  std::string space = "lockset";
  std::size_t pool = 16;
  Duration connect_timeout = std::chrono::seconds(5);
  bool tls = false;  // rediss:
  std::string ssl_ca;
  std::string ssl_cert;
  std::string ssl_key;

  // For messages: "Redis (db.example:6379/0, space lockset)".
  [[nodiscard]] std::string shown() const;
};

// Whether this build supports TLS.
bool has_tls() noexcept;

// Reads password_file, and REDISCLI_AUTH if the address has no password. Errc::invalid, with what
// to write instead; Errc::unsupported for rediss: in a build without TLS; Errc::misconfigured for a
// file that can't be read.
Result<Options> parse_address(const Url& url);

}  // namespace lockset::redis
