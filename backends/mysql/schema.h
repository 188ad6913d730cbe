// The tables and procedures of a space: makes them, and checks whether they fit.
#pragma once

#include <string>

#include "backends/mysql/address.h"
#include "backends/mysql/connection.h"
#include "lockset/clock.h"
#include "lockset/error.h"
#include "lockset/registry.h"

namespace lockset::mysql {

// Version 3 added traces, version 4 the identity of the server. A program of an older version must
// not make its own procedures again, which leave no traces and compare no identity.
inline constexpr int schema_version = 4;

// Errc::misconfigured, with what to do, unless this program can work with the existing space.
Status check_schema(Connection& connection, const Options& options, TimePoint by);

// The same for `lockset doctor`.
Finding examine_schema(Connection& connection, const Options& options, TimePoint by);

// `lockset init`: makes the space, or upgrades it; does nothing if there is nothing to do. Two
// concurrent calls run one after the other.
Status init(const Options& options, TimePoint by);

// What init runs on an empty database, for the mysql and mariadb programs.
std::string init_script(const Options& options);

}  // namespace lockset::mysql
