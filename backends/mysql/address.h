// mysql://user[:password]@host[:port]/database?space=NAME&strategy=...
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "lockset/clock.h"
#include "lockset/error.h"
#include "lockset/url.h"

namespace lockset::mysql {

// How a transaction makes sure that only it looks at a name. The first two lock the same row, so
// clients of both may share a space. A space of `session` has no such rows.
enum class Strategy : std::uint8_t {
  select_for_update,  // a point SELECT ... FOR UPDATE on the name's permanent row
  unique_index,       // INSERT ... ON DUPLICATE KEY UPDATE against the unique key
  session,            // no transaction: the server's user-level locks, which end with the session
};

// As in MySQL's own clients: `preferred` encrypts if the server can.
enum class SslMode : std::uint8_t { disabled, preferred, required, verify_ca, verify_identity };

struct Options {
  std::string host = "127.0.0.1";
  std::uint16_t port = 3306;
  std::string socket;  // path for a server on this host, instead of host and port
  std::string user;
  std::string password;  // never shown
  std::string database;
  std::string space = "lockset";
  Strategy strategy = Strategy::select_for_update;
  std::size_t pool = 16;
  Duration connect_timeout = std::chrono::seconds(5);
  SslMode ssl_mode = SslMode::preferred;
  std::string ssl_ca;
  std::string ssl_cert;
  std::string ssl_key;
  // A server of a Galera cluster to which all clients write, and only to this one.
  bool single_writer = false;

  // For messages: "MySQL (app@db.example:3306/prod, space lockset)".
  [[nodiscard]] std::string shown() const;
};

// Reads password_file, and MYSQL_PWD if the address has no password. Errc::invalid, with what to
// write instead; Errc::misconfigured for a file that can't be read.
Result<Options> parse_address(const Url& url);

}  // namespace lockset::mysql
