#include "backends/schemes.h"
#include "backends/sqlite/address.h"
#include "backends/sqlite/backend.h"
#include "backends/sqlite/doctor.h"
#include "backends/sqlite/store.h"

namespace lockset {
namespace sqlite {
namespace {

Result<std::unique_ptr<Backend>> open_space(const Options& options, TimePoint by) {
  Result<std::unique_ptr<Store>> store = Store::open(options, by);
  if (!store) return store.error();
  return std::unique_ptr<Backend>(new SqliteBackend(*std::move(store)));
}

// An embedded store: opening makes what is missing.
Status init(const Options& options, TimePoint by) {
  const Result<std::unique_ptr<Backend>> backend = open_space(options, by);
  return backend ? Status() : backend.error();
}

}  // namespace
}  // namespace sqlite

const Scheme sqlite_scheme{
    .name = "sqlite",
    .example = "sqlite:/var/lib/jobs/locks.db",
    .open = with_options<sqlite::parse_address, sqlite::open_space>,
    .init = with_options<sqlite::parse_address, sqlite::init>,
    .examine = with_options<sqlite::parse_address, sqlite::examine>,
};

}  // namespace lockset
