#include "backends/zookeeper/doctor.h"

#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "backends/zookeeper/acl.h"
#include "backends/zookeeper/paths.h"
#include "backends/zookeeper/records.h"
#include "backends/zookeeper/sessions.h"

namespace lockset::zookeeper {
namespace {

// Duration's own words for a session's timeout.
std::string shown(Duration duration) { return format_duration(duration); }

// The client library gives up connecting after two thirds of what is asked for.
constexpr Duration shortest_asked = std::chrono::seconds(1);
constexpr Duration longest_asked = std::chrono::hours(24);

Result<Duration> negotiated(const Options& options, Duration asked, TimePoint by) {
  const Result<std::shared_ptr<Session>> session = Session::open(options, asked);
  if (!session) return session.error();
  if (Status ready = (*session)->ready(by); !ready) return ready.error();
  return (*session)->timeout();
}

Finding examine_leases(Duration shortest, Duration longest) {
  using std::chrono::milliseconds;
  const Duration least =
      std::max<Duration>(std::chrono::ceil<milliseconds>(safe_part(shortest)), shortest_asked);
  const Duration whole = std::chrono::floor<milliseconds>(safe_part(longest));
  const Duration usual = std::chrono::seconds(30);
  const std::string text = "sessions of " + shown(shortest) + " to " + shown(longest) +
                           ": leases of " + shown(least) + " to " + shown(longest) +
                           ", those above " + shown(whole) + " are shortened to that";
  if (longest < usual) {
    return {Finding::Level::warning, "session timeouts",
            text + "; the usual lease of 30s is refused: raise maxSessionTimeout, or set a lease"};
  }
  return {Finding::Level::good, "session timeouts", text};
}

// A member of an ensemble publishes its configuration there.
Finding examine_servers(Session& session, const Options& options, TimePoint by) {
  const Result<Replies> replies = session.run({get("/zookeeper/config")}, by);
  if (!replies) return {Finding::Level::warning, "servers", replies.error().message};
  const Reply& reply = replies->back();
  if (!reply.ok()) {
    return {Finding::Level::warning, "servers",
            error_from(reply.code, options.shown(), Sent::reading).message};
  }
  if (reply.text.empty()) {
    return {Finding::Level::warning, "servers",
            "a standalone one: clients that connect while it starts may get no answer for two "
            "thirds of their session's timeout, as an ensemble's do not"};
  }
  return {Finding::Level::good, "servers", "members of an ensemble"};
}

// What the user may do, by the rights on the settings, where the digests are not shown to most.
Finding examine_access(Session& session, const Options& options, TimePoint by) {
  if (options.user.empty()) {
    return {Finding::Level::warning, "access",
            "no user in the address: everybody who reaches the servers may break and forge holds; "
            "name one, also for lockset init"};
  }
  const std::string user = "user " + in_quotes(options.user);
  Finding unknown{Finding::Level::good, "access", "the nodes are for the " + user};
  const Result<Replies> head = session.run({get(head_path(options.root()))}, by);
  const std::optional<std::string> generation =
      head && head->front().ok() ? generation_from(head->front().text) : std::nullopt;
  if (!generation) return unknown;
  const Result<Replies> read =
      session.run({acl(Paths(options.root(), *generation).settings())}, by);
  if (!read || !read->front().ok()) return unknown;
  const Acl& rights = read->front().acl;
  for (const AclEntry& entry : rights) {
    if (entry.scheme != "digest" || !entry.id.starts_with(options.user + ":")) continue;
    if (entry.rights != ZOO_PERM_ALL) {
      return {Finding::Level::good, "access",
              user + ((entry.rights & ZOO_PERM_WRITE) != 0 ? " is an operator" : " is a program")};
    }
    if (rights.size() > 1) return {Finding::Level::good, "access", "the space belongs to " + user};
    return {Finding::Level::good, "access",
            "the space belongs to " + user +
                ", and whoever has its password may change permits and break holds: give programs "
                "users of their own with lockset init --program"};
  }
  return unknown;
}

Finding examine_space(Session& session, const Options& options, TimePoint by) {
  const std::string where = head_path(options.root());
  const Result<Replies> replies = session.run({sync(where), get(where)}, by);
  if (!replies) return {Finding::Level::warning, "lock space", replies.error().message};
  const Reply& reply = replies->back();
  if (reply.code == ZNONODE) {
    return {Finding::Level::unsafe, "lock space",
            "there is none at " + options.root() + ": run lockset init", true};
  }
  if (!reply.ok()) {
    return {Finding::Level::unsafe, "lock space",
            error_from(reply.code, options.shown(), Sent::reading).message};
  }
  const std::optional<std::string> generation = generation_from(reply.text);
  if (!generation) {
    const char* const text = config_from_version_1(reply.text)
                                 ? "of an older version of Lockset: run lockset init"
                                 : "of another version of Lockset";
    return {Finding::Level::unsafe, "lock space", text};
  }
  const Paths paths(options.root(), *generation);
  const Result<Replies> read = session.run({get(paths.config()), get(paths.settings())}, by);
  if (!read) return {Finding::Level::warning, "lock space", read.error().message};
  if (read->front().code == ZNONODE) {
    return {Finding::Level::unsafe, "lock space",
            "there is no more than a part of it at " + options.root() + ": run lockset init", true};
  }
  if (!read->front().ok()) {
    return {Finding::Level::unsafe, "lock space",
            error_from(read->front().code, options.shown(), Sent::reading).message};
  }
  if (!config_from(read->front().text, read->back().text)) {
    return {Finding::Level::unsafe, "lock space", "of another version of Lockset"};
  }
  return {Finding::Level::good, "lock space", options.root()};
}

}  // namespace

Result<std::vector<Finding>> examine(const Options& options, TimePoint by) {
  Sessions sessions(options);
  const Result<std::shared_ptr<Session>> session = sessions.general(by);
  if (!session) return session.error();
  std::vector<Finding> findings;
  const Result<Duration> shortest = negotiated(options, shortest_asked, by);
  if (!shortest) return shortest.error();
  const Result<Duration> longest = negotiated(options, longest_asked, by);
  if (!longest) return longest.error();
  findings.push_back(examine_leases(*shortest, *longest));
  findings.push_back(examine_servers(**session, options, by));
  findings.push_back(examine_access(**session, options, by));
  findings.push_back(
      {Finding::Level::warning, "transport", "not encrypted: the client library has no TLS"});
  findings.push_back(examine_space(**session, options, by));
  return findings;
}

}  // namespace lockset::zookeeper
