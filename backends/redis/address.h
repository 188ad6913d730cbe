// redis://[user[:password]]@host[:port][/db]?space=NAME&... and
// redis+cluster://[user[:password]]@node[:port],node,...?space=NAME&... and
// redis+sentinel://[user[:password]]@sentinel[:port],sentinel,.../primary[/db]?space=NAME&...
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "backends/server/address_parts.h"
#include "lockset/clock.h"
#include "lockset/error.h"
#include "lockset/url.h"

namespace lockset::redis {

// A server: host and port.
struct Place {
  std::string host = "127.0.0.1";
  std::uint16_t port = 6379;

  [[nodiscard]] std::string shown() const { return addresses::show_host(host, port); }
  friend bool operator==(const Place&, const Place&) = default;
};

struct Options {
  // redis+sentinel: these name the server; then its port is 0 until Sentinels has found it, and
  // `sentinels` is empty in the options for a connection to one of them.
  std::vector<Place> sentinels;
  std::string primary;  // the name by which the sentinels know it
  // redis+cluster: those are nodes of the cluster instead, and name the one that serves the space.
  bool cluster = false;
  std::string sentinel_user;
  std::string sentinel_password;  // never shown
  Place server;
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

  [[nodiscard]] bool is_sentinel() const { return sentinels.empty() && !primary.empty(); }
  // For messages: "Redis (db.example:6379/0, space lockset)". With sentinels, "Redis (main by the
  // sentinels s1:26379, s2:26379, database 0, space lockset)", with the server in front if it is
  // known.
  [[nodiscard]] std::string shown() const;
};

// Whether this build supports TLS.
bool has_tls() noexcept;

// Reads password_file and sentinel_password_file; REDISCLI_AUTH if the address has no password, and
// REDISCLI_SENTINEL_AUTH if there is none for the sentinels. Errc::invalid, with what
// to write instead; Errc::unsupported for rediss: in a build without TLS; Errc::misconfigured for a
// file that can't be read.
Result<Options> parse_address(const Url& url);

}  // namespace lockset::redis
