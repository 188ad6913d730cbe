// Shared by the rivals on PostgreSQL: a connection like the backend's, but plain.
#pragma once

#include <memory>
#include <pqxx/pqxx>
#include <stdexcept>
#include <string>
#include <string_view>

#include "backends/postgresql/address.h"
#include "backends/postgresql/pqxx_versions.h"
#include "lockset/url.h"

namespace lockset::bench {

// The address as the backend reads it: same server, user, database, socket and TLS.
postgresql::Options postgresql_options(const Url& url);

// Runs `work`; exceptions of the client library become one line.
template <class Work>
auto in_one_line(Work work) {
  try {
    return work();
  } catch (const pqxx::failure& error) {
    const std::string_view text = error.what();
    throw std::runtime_error("PostgreSQL: " + std::string(text.substr(0, text.find('\n'))));
  }
}

// Autocommit, and statements that are prepared once. Used by one thread at a time.
class PostgresqlConnection {
 public:
  explicit PostgresqlConnection(const postgresql::Options& options)
      : connection_(connect(options)), quiet_(*connection_), work_(*connection_) {}

  void prepare(const char* statement, const std::string& sql) {
    in_one_line([&] { connection_->prepare(statement, sql); });
  }
  template <class... Args>
  pqxx::result prepared(const char* statement, const Args&... args) {
    return in_one_line([&] { return postgresql::run_prepared(work_, statement, args...); });
  }
  pqxx::result run(const std::string& sql) {
    return in_one_line([&] { return work_.exec(sql); });
  }

 private:
  static std::unique_ptr<pqxx::connection> connect(const postgresql::Options& options);

  std::unique_ptr<pqxx::connection> connection_;
  postgresql::Quiet quiet_;    // no notices on standard error
  pqxx::nontransaction work_;  // one for all calls, so that making one costs nothing
};

}  // namespace lockset::bench
