#include "backends/postgresql/init.h"

#include <algorithm>
#include <pqxx/pqxx>

#include "backends/connections/socket_watchdog.h"
#include "backends/postgresql/connection.h"
#include "backends/postgresql/errors.h"

namespace lockset::postgresql {
namespace {

// What the space was made with, from its about(); "" if it is not there.
std::string about_of(Connection& connection, const Options& options, TimePoint by) {
  Failure failure;
  const Result<pqxx::result> result =
      connection.run("SELECT \"" + options.space + "\".about()", Sent::reading, by, failure);
  return result ? (*result)[0][0].as<std::string>("") : std::string();
}

std::string about_when_current(const Options& options, Strategy strategy) {
  return std::to_string(schema_version) + '\x1F' + std::string(to_string(strategy)) + '\x1F' +
         script_digest(options.space, strategy);
}

}  // namespace

std::string init_script(const Options& options) {
  const Strategy strategy = options.strategy.value_or(Strategy::advisory);
  return "-- Lockset: the space " + options.space +
         ", strategy=" + std::string(to_string(strategy)) + ", schema version " +
         std::to_string(schema_version) +
         ".\n-- Run it as a user who may make a schema in this database. Running it again does no "
         "harm.\n-- The programs' own user then needs no more than this:\n--   GRANT USAGE ON "
         "SCHEMA \"" +
         options.space + "\" TO the_user;\nBEGIN;\n" + install_script(options.space, strategy) +
         "COMMIT;\n";
}

Status init(const Options& given, TimePoint by) {
  connections::SocketWatchdog watchdog;
  const connections::Interrupt never;
  Options options = given;
  Result<std::unique_ptr<Connection>> connection = Connection::connect(
      options, watchdog, never, std::min(by, BootClock::now() + options.connect_timeout));
  if (!connection) return connection.error();

  const std::string present = about_of(**connection, options, by);
  for (const Strategy strategy : {Strategy::advisory, Strategy::serializable}) {
    // Nothing to do, and so nobody's right to change the schema is needed.
    const bool meant = !options.strategy || *options.strategy == strategy;
    if (meant && present == about_when_current(options, strategy)) return {};
  }
  // An older one keeps its strategy.
  if (!options.strategy && present.find("\x1Fserializable\x1F") != std::string::npos) {
    options.strategy = Strategy::serializable;
  }
  Failure failure;
  const Result<pqxx::result> done =
      (*connection)
          ->run("BEGIN;\n" +
                    install_script(options.space, options.strategy.value_or(Strategy::advisory)) +
                    "COMMIT;",
                Sent::change, by, failure);
  return done ? Status() : done.error();
}

}  // namespace lockset::postgresql
