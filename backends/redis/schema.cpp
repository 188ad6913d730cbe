#include "backends/redis/schema.h"

#include <memory>

#include "backends/redis/keys.h"
#include "backends/redis/rights.h"
#include "backends/redis/scripts.h"
#include "backends/redis/store.h"

namespace lockset::redis {

Status init(const Options& options, TimePoint by) {
  server::SocketWatchdog watchdog;
  const Result<std::unique_ptr<Connection>> connection = connect_safely(options, watchdog, by);
  if (!connection) return connection.error();
  if (Status status = check_rights(**connection, options, by); !status) return status.error();
  const Keys keys(options.space);
  const std::string text = scripts::init.text();
  const Result<Reply> reply =
      (*connection)
          ->ask({"EVAL", text, "6", keys.main, keys.leases, keys.waiters, keys.epochs, keys.kept,
                 keys.here, (*connection)->run_id()},
                Sent::change, by);
  if (!reply) return reply.error();
  if ((*reply)[0].text() == "X") return {};
  return Error{Errc::misconfigured,
               options.shown() + ": the space has version " + std::string((*reply)[1].text()) +
                   " of the schema, which this program can't bring up to date: use the program "
                   "that made it, or another space"};
}

}  // namespace lockset::redis
