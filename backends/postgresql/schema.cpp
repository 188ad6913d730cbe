#include "backends/postgresql/schema.h"

#include <algorithm>
#include <pqxx/pqxx>

#include "backends/postgresql/connection.h"
#include "backends/postgresql/errors.h"
#include "backends/postgresql/rights.h"
#include "backends/server/socket_watchdog.h"
#include "lockset/lock_set.h"

namespace lockset::postgresql {
namespace {

// What the space was made with, from its about(); "" if there is none. REQUIRES: it is safe to run.
std::string about_of(Connection& connection, const Options& options, TimePoint by) {
  CallFailure failure;
  const Result<pqxx::result> result =
      connection.run(std::string(safe_path) + "SELECT \"" + options.space + "\".about()",
                     Sent::reading, by, failure);
  return result ? (*result)[0][0].as<std::string>("") : std::string();
}

// That of `about` without what a failover means, which is no part of the script.
std::string script_of(const std::string& about) { return about.substr(0, about.rfind('\x1F')); }
std::string failover_of(const std::string& about) {
  const std::size_t at = about.rfind('\x1F');
  return at == std::string::npos ? std::string() : about.substr(at + 1);
}
// Only if the address says something about it.
std::string failover_part(const Options& options) {
  return options.failover ? failover_script(options.space, *options.failover) : std::string();
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
         "harm.\n-- Then give the programs' user (and the operators') their rights: what this "
         "prints, "
         "or run without --print:\n--   lockset init --print --program the_user\nBEGIN;" +
         install_script(options.space, strategy) + failover_part(options) + "COMMIT;\n";
}

Status init(const Options& given, TimePoint by) {
  server::SocketWatchdog watchdog;
  const server::Interrupt never;
  Options options = given;
  Result<std::unique_ptr<Connection>> connection = Connection::connect(
      options, watchdog, never, std::min(by, BootClock::now() + options.connect_timeout));
  if (!connection) return connection.error();

  const Result<Ownership> found = ownership(**connection, options, by);
  if (!found) return found.error();
  const auto run = [&](const std::string& script) -> Status {
    CallFailure failure;
    const Result<pqxx::result> done =
        (*connection)->run("BEGIN;\n" + script + "COMMIT;", Sent::change, by, failure);
    return done ? Status() : done.error();
  };
  // Another role's function may be anything: the script says so, and uses none of it.
  const bool ask = found->there && found->trusted && found->about;
  const std::string present = ask ? about_of(**connection, options, by) : std::string();
  for (const Strategy strategy : {Strategy::advisory, Strategy::serializable, Strategy::session}) {
    const bool meant = !options.strategy || *options.strategy == strategy;
    if (!meant || script_of(present) != about_when_current(options, strategy)) continue;
    // There is nothing to make, so anyone may ask for it. The owner's call checks what is there.
    const bool same = !options.failover || failover_of(present) == to_string(*options.failover);
    if (found->mine) return run(check_script(options.space) + failover_part(options));
    if (same) return {};
    return Error{Errc::misconfigured,
                 "PostgreSQL (" + options.shown + "): only the owner of the space, " +
                     in_quotes(found->owner) + ", changes failover=: run it as that"};
  }
  // An older space keeps its strategy.
  for (const Strategy strategy : {Strategy::serializable, Strategy::session}) {
    const std::string named = '\x1F' + std::string(to_string(strategy)) + '\x1F';
    if (!options.strategy && present.find(named) != std::string::npos) options.strategy = strategy;
  }
  return run(install_script(options.space, options.strategy.value_or(Strategy::advisory)) +
             failover_part(options));
}

}  // namespace lockset::postgresql
