#include "backends/postgresql/address.h"
#include "backends/postgresql/backend.h"
#include "backends/postgresql/doctor.h"
#include "backends/postgresql/rights.h"
#include "backends/postgresql/schema.h"
#include "backends/postgresql/session_backend.h"
#include "backends/postgresql/store.h"
#include "backends/schemes.h"

namespace lockset {
namespace postgresql {
namespace {

Result<std::unique_ptr<Backend>> open_space(const Options& options, TimePoint by) {
  Result<std::unique_ptr<Store>> store = Store::open(options, by);
  if (!store) return store.error();
  if ((*store)->strategy() == Strategy::session) {
    auto backend = std::make_unique<SessionBackend>(*std::move(store));
    if (Status begun = backend->begin(by); !begun) return begun.error();
    return std::unique_ptr<Backend>(std::move(backend));
  }
  return std::unique_ptr<Backend>(new PostgresqlBackend(*std::move(store)));
}

}  // namespace
}  // namespace postgresql

const Scheme postgresql_scheme{
    .name = "postgresql",
    .example = "postgresql://app@db.example/prod?space=jobs",
    .open = with_options<postgresql::parse_address, postgresql::open_space>,
    .init = with_options<postgresql::parse_address, postgresql::init>,
    .init_script = with_options<postgresql::parse_address, postgresql::init_script>,
    .examine = with_options<postgresql::parse_address, postgresql::examine>,
    .also = "postgres",
    .rights_script = with_options<postgresql::parse_address, postgresql::rights_script>,
    .allow = with_options<postgresql::parse_address, postgresql::allow>,
};

}  // namespace lockset
