#include "backends/postgresql/scheme.h"

#include "backends/postgresql/address.h"
#include "backends/postgresql/backend.h"
#include "backends/postgresql/doctor.h"
#include "backends/postgresql/rights.h"
#include "backends/postgresql/schema.h"
#include "backends/postgresql/store.h"

namespace lockset {
namespace {

Result<std::unique_ptr<Backend>> open_postgresql(const Url& url, TimePoint by) {
  const Result<postgresql::Options> options = postgresql::parse_address(url);
  if (!options) return options.error();
  Result<std::unique_ptr<postgresql::Store>> store = postgresql::Store::open(*options, by);
  if (!store) return store.error();
  return std::unique_ptr<Backend>(new postgresql::PostgresqlBackend(*std::move(store)));
}

Status init_postgresql(const Url& url, TimePoint by) {
  const Result<postgresql::Options> options = postgresql::parse_address(url);
  return options ? postgresql::init(*options, by) : options.error();
}

Result<std::string> postgresql_script(const Url& url) {
  const Result<postgresql::Options> options = postgresql::parse_address(url);
  if (!options) return options.error();
  return postgresql::init_script(*options);
}

Result<std::string> postgresql_rights(const Url& url, Role role, std::string_view account) {
  const Result<postgresql::Options> options = postgresql::parse_address(url);
  if (!options) return options.error();
  return postgresql::printed_rights(*options, role, account);
}

Status allow_postgresql(const Url& url, Role role, std::string_view account, TimePoint by) {
  const Result<postgresql::Options> options = postgresql::parse_address(url);
  return options ? postgresql::allow(*options, role, account, by) : options.error();
}

Result<std::vector<Finding>> examine_postgresql(const Url& url, TimePoint by) {
  const Result<postgresql::Options> options = postgresql::parse_address(url);
  if (!options) return options.error();
  return postgresql::examine(*options, by);
}

}  // namespace

const Scheme postgresql_scheme{.name = "postgresql",
                               .example = "postgresql://app@db.example/prod?space=jobs",
                               .open = open_postgresql,
                               .init = init_postgresql,
                               .init_script = postgresql_script,
                               .examine = examine_postgresql,
                               .rights_script = postgresql_rights,
                               .allow = allow_postgresql};

}  // namespace lockset
