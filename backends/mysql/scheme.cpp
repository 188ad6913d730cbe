#include "backends/mysql/address.h"
#include "backends/mysql/backend.h"
#include "backends/mysql/doctor.h"
#include "backends/mysql/rights.h"
#include "backends/mysql/schema.h"
#include "backends/mysql/session_backend.h"
#include "backends/mysql/store.h"
#include "backends/schemes.h"

namespace lockset {
namespace mysql {
namespace {

Result<std::unique_ptr<Backend>> open_space(const Options& options, TimePoint by) {
  auto store = std::make_unique<Store>(options);
  if (Status fit = store->check(by); !fit) return fit.error();
  if (options.strategy == Strategy::session) {
    auto backend = std::make_unique<SessionBackend>(std::move(store));
    if (Status begun = backend->begin(by); !begun) return begun.error();
    return std::unique_ptr<Backend>(std::move(backend));
  }
  return std::unique_ptr<Backend>(new MysqlBackend(std::move(store)));
}

}  // namespace
}  // namespace mysql

const Scheme mysql_scheme{
    .name = "mysql",
    .example = "mysql://app@db/jobs?space=lockset",
    .open = with_options<mysql::parse_address, mysql::open_space>,
    .init = with_options<mysql::parse_address, mysql::init>,
    .init_script = with_options<mysql::parse_address, mysql::init_script>,
    .examine = with_options<mysql::parse_address, mysql::examine>,
    .also = "mariadb",
    .rights_script = with_options<mysql::parse_address, mysql::rights_script>,
    .allow = with_options<mysql::parse_address, mysql::allow>,
};

}  // namespace lockset
