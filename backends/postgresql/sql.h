// The SQL of a space: what `lockset init` runs and `lockset init --print` prints. The
// rules are kept in functions inside the database, so that one round trip does a whole
// step. docs/backends/postgresql.md explains them; docs/adr/0010 to 0013 say why they
// are as they are.
//
// In the texts @space@ stands for the schema, @class@ and @names@ for the two classes of
// advisory locks of the space, @version@ for the schema's version. What differs between
// the strategies inside a function is a placeholder, too (see schema.cpp).
#pragma once

#include <string_view>

namespace lockset::postgresql::sql {

// Before anything else: nothing of the schema is used unless it is the caller's own and holds
// nothing but what Lockset made.
extern const std::string_view guard;
extern const std::string_view look;  // a part of both
// At the end: old versions' functions go, rights that nobody has to have are taken away, and what
// is there is looked at again.
extern const std::string_view seal;

// Gives an account a role.
extern const std::string_view rights;

// Checks, tables, and the functions that all versions have.
extern const std::string_view tables;

// The names are locked by advisory locks, under READ COMMITTED.
extern const std::string_view acquire_advisory;
// The names are locked by updating a row for each, under SERIALIZABLE.
extern const std::string_view acquire_serializable;
// What both do for a set that is not simply free.
extern const std::string_view settle;

extern const std::string_view release;  // by its application, and by an operator (break)
extern const std::string_view holds;    // renew, resolve, inspect, sweep
extern const std::string_view waiters;  // the line of those who wait
extern const std::string_view config;   // configuration, reclaim

}  // namespace lockset::postgresql::sql
