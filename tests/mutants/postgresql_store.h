// A small store in PostgreSQL, whose one function is the test's to choose.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lockset/backend.h"

namespace lockset::mutants {

// CREATE FUNCTION take(names text[]) RETURNS bigint: takes sorted names and answers a stamp, or
// 0 for busy. There are the table holds(name, stamp) and the sequence stamps. This one takes
// advisory locks of the names, then looks, then draws the stamp. In READ COMMITTED each
// statement of a volatile function sees what was committed before it began.
//
// pg_sleep, here and in the wrong ones, only makes likely what happens without it as well, now
// and then.
extern const char* const right_postgresql_function;

// A schema of this name with the tables and the function.
void make_postgresql_store(const std::string& url, const std::string& name,
                           const std::string& function);

// One client's. `settings`: SQL for the start of its session.
std::shared_ptr<Backend> open_postgresql_store(const std::string& url, const std::string& name,
                                               const std::string& isolation,
                                               const std::string& settings = {});

// Statements of an administrator, one by one, each in a transaction of its own. The first value
// of the last answer, if any.
std::string tell_postgresql(const std::string& url, const std::vector<std::string>& statements);

}  // namespace lockset::mutants
