// The registry entries of the backends: each is defined in its own room, and listed in builtin.cpp.
#pragma once

#include "lockset/registry.h"

namespace lockset {

// "memory:" opens a space of its own each time; threads share it through one Locks.
extern const Scheme memory_scheme;
// Lock spaces that are on the move: "migrate:?from=ADDRESS&to=ADDRESS".
extern const Scheme migrate_scheme;
extern const Scheme mysql_scheme;  // and MariaDB
extern const Scheme postgresql_scheme;
extern const Scheme redis_scheme;
extern const Scheme sqlite_scheme;
extern const Scheme zookeeper_scheme;

// A function of a Scheme, made of one that takes what the address means in its place.
template <auto parse_address, auto call, class Answer, class... Rest>
Answer with_options(const Url& url, Rest... rest) {
  const auto options = parse_address(url);
  if (!options) return options.error();
  return call(*options, rest...);
}

}  // namespace lockset
