#include <array>

#include "benchmarks/rivals/stores.h"

namespace lockset::bench {

const RivalStore* find_store(const Url& url) noexcept {
  static constexpr std::array stores{
      &memory_store,
#ifdef LOCKSET_HAS_SQLITE
      &sqlite_store,
#endif
#ifdef LOCKSET_HAS_POSTGRESQL
      &postgresql_store,
#endif
#ifdef LOCKSET_HAS_MYSQL
      &mysql_store,
#endif
#ifdef LOCKSET_HAS_REDIS
      &redis_store,
#endif
#ifdef LOCKSET_HAS_ZOOKEEPER
      &zookeeper_store,
#endif
  };
  for (const RivalStore* store : stores) {
    if (store->scheme == url.scheme) return store;
  }
  return nullptr;
}

}  // namespace lockset::bench
