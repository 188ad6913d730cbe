#include "backends/mysql/scheme.h"

#include <utility>

#include "backends/mysql/address.h"
#include "backends/mysql/backend.h"
#include "backends/mysql/doctor.h"
#include "backends/mysql/rights.h"
#include "backends/mysql/schema.h"
#include "backends/mysql/store.h"

namespace lockset {
namespace {

Result<std::unique_ptr<Backend>> open_mysql(const Url& url, TimePoint by) {
  Result<mysql::Options> options = mysql::parse_address(url);
  if (!options) return options.error();
  auto store = std::make_unique<mysql::Store>(*options);
  Status fit = store->check(by);
  if (!fit) return fit.error();
  return std::unique_ptr<Backend>(new mysql::MysqlBackend(std::move(store)));
}

Status init_mysql(const Url& url, TimePoint by) {
  const Result<mysql::Options> options = mysql::parse_address(url);
  return options ? mysql::init(*options, by) : options.error();
}

Result<std::string> mysql_script(const Url& url) {
  const Result<mysql::Options> options = mysql::parse_address(url);
  if (!options) return options.error();
  return mysql::init_script(*options);
}

Result<std::vector<Finding>> examine_mysql(const Url& url, TimePoint by) {
  const Result<mysql::Options> options = mysql::parse_address(url);
  if (!options) return options.error();
  connections::SocketWatchdog watchdog;
  const Result<std::unique_ptr<mysql::Connection>> connection =
      mysql::Connection::connect(*options, watchdog, by);
  if (!connection) return connection.error();
  Result<std::vector<Finding>> findings = mysql::examine(**connection, *options, by);
  if (!findings) return findings;
  findings->push_back(mysql::examine_schema(**connection, *options, by));
  if (findings->back().level != Finding::Level::good) return findings;
  for (Finding& finding : mysql::examine_rights(**connection, *options, by)) {
    findings->push_back(std::move(finding));
  }
  return findings;
}

Result<std::string> mysql_rights(const Url& url, Role role, std::string_view account) {
  const Result<mysql::Options> options = mysql::parse_address(url);
  if (!options) return options.error();
  return mysql::rights_script(*options, role, account);
}

Status allow_mysql(const Url& url, Role role, std::string_view account, TimePoint by) {
  const Result<mysql::Options> options = mysql::parse_address(url);
  return options ? mysql::allow(*options, role, account, by) : options.error();
}

}  // namespace

const Scheme mysql_scheme{"mysql",      "mysql://app@db/jobs?space=lockset",
                          open_mysql,   init_mysql,
                          mysql_script, examine_mysql,
                          {},           mysql_rights,
                          allow_mysql};

}  // namespace lockset
