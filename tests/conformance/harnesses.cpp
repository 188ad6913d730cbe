// The one list of harnesses. A new backend needs one line here, one in backends/builtin.cpp, and
// one in backends/CMakeLists.txt.
#include "tests/conformance/harness.h"
#include "tests/conformance/memory_harness.h"
#include "tests/conformance/migrate_harness.h"
#ifdef LOCKSET_HAS_MEMCACHED
#include "tests/conformance/memcached_harness.h"
#endif
#ifdef LOCKSET_HAS_MYSQL
#include "tests/conformance/mysql_harness.h"
#endif
#ifdef LOCKSET_HAS_POSTGRESQL
#include "tests/conformance/postgresql_harness.h"
#endif
#include "tests/conformance/quorum_harness.h"
#ifdef LOCKSET_HAS_REDIS
#include "tests/conformance/redis_harness.h"
#endif
#ifdef LOCKSET_HAS_SQLITE
#include "tests/conformance/sqlite_harness.h"
#endif
#ifdef LOCKSET_HAS_ZOOKEEPER
#include "tests/conformance/zookeeper_harness.h"
#endif

namespace lockset::conformance {

std::span<Harness* const> all_harnesses() {
  static Harness* const harnesses[] = {
    &memory_harness(),
#ifdef LOCKSET_HAS_SQLITE
    &sqlite_harness(),
#endif
#ifdef LOCKSET_HAS_POSTGRESQL
    &postgresql_advisory_harness(),
    &postgresql_serializable_harness(),
    &postgresql_session_harness(),
#endif
#ifdef LOCKSET_HAS_MYSQL
    &mariadb_select_for_update_harness(),
    &mariadb_unique_index_harness(),
    &mysql_select_for_update_harness(),
    &mysql_unique_index_harness(),
    &mariadb_session_harness(),
    &mysql_session_harness(),
#endif
#ifdef LOCKSET_HAS_REDIS
    &redis_harness(),
#endif
#ifdef LOCKSET_HAS_ZOOKEEPER
    &zookeeper_harness(),
#endif
#ifdef LOCKSET_HAS_MEMCACHED
    &memcached_harness(),
#endif
    &migrate_old_only_harness(),
    &migrate_dual_old_harness(),
    &migrate_dual_new_harness(),
    &migrate_new_only_harness(),
#ifdef LOCKSET_HAS_SQLITE
    &migrate_files_harness(),
#endif
    &quorum_memory_harness(),
#ifdef LOCKSET_HAS_SQLITE
    &quorum_files_harness(),
#endif
#ifdef LOCKSET_HAS_REDIS
    &quorum_redis_harness(),
#endif
#if defined(LOCKSET_HAS_SQLITE) && defined(LOCKSET_HAS_REDIS) && defined(LOCKSET_HAS_POSTGRESQL)
    &quorum_mixed_harness(),
#endif
  };
  return harnesses;
}

}  // namespace lockset::conformance
