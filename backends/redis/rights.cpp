#include "backends/redis/rights.h"

#include "backends/redis/keys.h"
#include "backends/redis/statements.h"

namespace lockset::redis {

std::string trial_script() { return "\n" + std::string(statements::trial_lua) + "\n"; }

Status check_rights(Connection& connection, const Options& options, TimePoint by) {
  const std::string key = Keys(options.space).main + ":rights";
  const Result<Reply> reply = connection.ask(
      {"EVAL", trial_script(), "1", key, Keys(options.space).config}, Sent::reading, by);
  if (!reply) return reply.error();
  if (reply->size() == 0) return {};
  return Error{Errc::misconfigured,
               options.shown() + ": this user may not run " + std::string((*reply)[0].text()) +
                   " on the keys " + Keys(options.space).main + "*, or the server lacks it: see " +
                   "the ACL rule in docs/backends/redis.md"};
}

Result<bool> is_operator(Connection& connection, const Options& options, TimePoint by) {
  const Result<Reply> reply =
      connection.call({"HDEL", Keys(options.space).config, ""}, Sent::reading, by);
  if (!reply) return reply.error();
  // The server checks rights before anything else that may be wrong.
  return !reply->is_error() || !reply->text().starts_with("NOPERM");
}

}  // namespace lockset::redis
