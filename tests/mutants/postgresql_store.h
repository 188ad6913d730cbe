// A small store in PostgreSQL; the test chooses its one function.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lockset/backend.h"

namespace lockset::mutants {

// CREATE FUNCTION take(names text[]) RETURNS bigint: takes sorted names and returns a stamp, or 0
// for busy. There are the table holds(name, stamp) and the sequence stamps. This one takes advisory
// locks on the names, then looks, then draws the stamp. In READ COMMITTED each statement of a
// volatile function sees what was committed before it began.
//
// pg_sleep, here and in the wrong functions, only makes likely what also happens now and then
// without it.
extern const char* const right_postgresql_function;

// Makes a schema of this name with the tables and the function.
void make_postgresql_store(const std::string& url, const std::string& name,
                           const std::string& function);

// For one client. `settings`: SQL for the start of its session.
std::shared_ptr<Backend> open_postgresql_store(const std::string& url, const std::string& name,
                                               const std::string& isolation,
                                               const std::string& settings = {});

// Runs an administrator's statements one by one, each in its own transaction. Returns the first
// value of the last answer, if any.
std::string tell_postgresql(const std::string& url, const std::vector<std::string>& statements);

}  // namespace lockset::mutants
