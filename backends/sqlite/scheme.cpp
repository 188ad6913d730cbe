#include "backends/sqlite/scheme.h"

#include "backends/sqlite/address.h"
#include "backends/sqlite/backend.h"
#include "backends/sqlite/doctor.h"
#include "backends/sqlite/store.h"

namespace lockset {
namespace {

Result<std::unique_ptr<Backend>> open_sqlite(const Url& url, TimePoint by) {
  Result<sqlite::Options> options = sqlite::parse_address(url);
  if (!options) return options.error();
  Result<std::unique_ptr<sqlite::Store>> store = sqlite::Store::open(*options, by);
  if (!store) return store.error();
  return std::unique_ptr<Backend>(new sqlite::SqliteBackend(*std::move(store)));
}

// An embedded store: opening makes what is missing.
Status init_sqlite(const Url& url, TimePoint by) {
  const Result<std::unique_ptr<Backend>> backend = open_sqlite(url, by);
  return backend ? Status() : backend.error();
}

}  // namespace

const Scheme sqlite_scheme{"sqlite",       "sqlite:/var/lib/jobs/locks.db",
                           open_sqlite,    init_sqlite,
                           nullptr,  // opening makes the space
                           sqlite::examine};

}  // namespace lockset
