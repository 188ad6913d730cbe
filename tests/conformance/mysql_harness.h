// Spaces of MySQL and MariaDB: separate tables in a database of a private server, or of the server
// that LOCKSET_TEST_MARIADB_URL or LOCKSET_TEST_MYSQL_URL names.
#pragma once

#include "tests/conformance/harness.h"

namespace lockset::conformance {

// look() reads the tables over a separate connection, without the backend.
Harness& mariadb_select_for_update_harness();
Harness& mariadb_unique_index_harness();
Harness& mysql_select_for_update_harness();
Harness& mysql_unique_index_harness();
// look() asks a separate client: no table has the holds.
Harness& mariadb_session_harness();
Harness& mysql_session_harness();

}  // namespace lockset::conformance
