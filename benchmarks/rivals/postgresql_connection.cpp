#include "benchmarks/rivals/postgresql_connection.h"

#include <cstddef>

namespace lockset::bench {

postgresql::Options postgresql_options(const Url& url) {
  Result<postgresql::Options> options = postgresql::parse_address(url);
  if (!options) throw std::runtime_error(options.error().message);
  return *std::move(options);
}

std::unique_ptr<pqxx::connection> PostgresqlConnection::connect(
    const postgresql::Options& options) {
  for (std::size_t i = 0;; ++i) {
    const bool last = i + 1 == options.conninfos.size();
    try {
      return in_one_line([&] { return std::make_unique<pqxx::connection>(options.conninfos[i]); });
    } catch (const std::runtime_error&) {
      if (last) throw;
    }
  }
}

}  // namespace lockset::bench
