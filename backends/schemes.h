// The registry entries of the backends. Each is defined in its backend's folder, and listed in
// builtin.cpp.
#pragma once

#include "lockset/registry.h"

namespace lockset {

// "memory:" opens a space of its own each time; threads share it through one Locks.
extern const Scheme memory_scheme;
extern const Scheme memcached_scheme;
// Lock spaces during a migration: "migrate:?from=ADDRESS&to=ADDRESS".
extern const Scheme migrate_scheme;
extern const Scheme mysql_scheme;  // and MariaDB
extern const Scheme postgresql_scheme;
// An odd number of lock spaces, of which a majority grants: "quorum:?of=ADDRESS&of=...".
extern const Scheme quorum_scheme;
extern const Scheme redis_scheme;
extern const Scheme redis_cluster_scheme;   // the same, found by the cluster's nodes
extern const Scheme redis_sentinel_scheme;  // the same, found by its sentinels
extern const Scheme sqlite_scheme;
extern const Scheme zookeeper_scheme;

// Makes a function of a Scheme from `call`, which takes the options that the address stands for
// instead of the address.
template <auto parse_address, auto call, class Answer, class... Rest>
Answer with_options(const Url& url, Rest... rest) {
  const auto options = parse_address(url);
  if (!options) return options.error();
  return call(*options, rest...);
}

}  // namespace lockset
