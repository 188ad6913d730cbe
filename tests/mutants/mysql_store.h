// A small store in MariaDB or MySQL; the test chooses its one procedure.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "lockset/backend.h"

namespace lockset::mutants {

// CREATE PROCEDURE take(IN one, IN two): takes two sorted names, or one and NULL, and returns a
// stamp, or 0 for busy. There are the tables names(name), whose rows are locked, holds(name, stamp)
// and stamps(stamp AUTO_INCREMENT).
//
// The steps here are right: the locks, then the look, then the stamp, each in a separate statement.
// SLEEP, here and in the wrong steps, only makes likely what also happens now and then without it.
struct MysqlSteps {
  const char* isolation = "READ COMMITTED";
  const char* before_the_locks = "";
  // At the end of SELECT ... INTO ignored, for each name.
  const char* lock = " FOR UPDATE";
  const char* before_the_look = "";
  const char* before_the_stamp = "DO SLEEP(0.001);";
  // Empty if it was drawn before.
  const char* draw = "INSERT INTO stamps VALUES (NULL); SET drawn = LAST_INSERT_ID();";
};
std::string mysql_procedure(const MysqlSteps& steps);

// Replaces the address's database by one with the tables and this procedure. Names are "a" to "d",
// and "n0" up to `more_names` more.
void make_mysql_store(const std::string& url, std::size_t more_names, const std::string& procedure);

// For one client.
std::shared_ptr<Backend> open_mysql_store(const std::string& url);

}  // namespace lockset::mutants
