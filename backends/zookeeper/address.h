// zookeeper://[user:password@]host[:port],host[:port].../[chroot]?space=NAME&...
#pragma once

#include <cstddef>
#include <string>

#include "lockset/clock.h"
#include "lockset/error.h"
#include "lockset/url.h"

namespace lockset::zookeeper {

struct Options {
  std::string hosts;          // "h1:p1,[::1]:p2", as in the address
  std::string library_hosts;  // the same in the form for the client library: "h1:p1,::1:p2"
  std::string user;           // of the digest scheme; empty: everybody may do everything
  std::string password;       // never shown
  std::string chroot;         // "" or "/path"
  std::string space = "lockset";
  std::size_t pool = 64;  // the most sessions of one client
  Duration connect_timeout = std::chrono::seconds(5);
  // The timeout of sessions without holds.
  Duration session_timeout = std::chrono::seconds(10);
  // Allows leases below the server's shortest session: see ADR 0024.
  bool short_leases = false;

  // The path of the space.
  [[nodiscard]] std::string root() const { return chroot + "/" + space; }
  // For messages: "ZooKeeper (h1:2181,h2:2181/jobs, space lockset)".
  [[nodiscard]] std::string shown() const;
};

// Reads password_file, and ZOOKEEPER_PASSWORD if the address has a user and no password.
// Errc::invalid, with what to write instead; Errc::misconfigured for a file that can't be read.
Result<Options> parse_address(const Url& url);

}  // namespace lockset::zookeeper
