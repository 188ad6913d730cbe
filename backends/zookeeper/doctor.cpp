#include "backends/zookeeper/doctor.h"

#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "backends/findings.h"
#include "backends/zookeeper/acl.h"
#include "backends/zookeeper/paths.h"
#include "backends/zookeeper/records.h"
#include "backends/zookeeper/sessions.h"

namespace lockset::zookeeper {
namespace {

using namespace findings;

// A session's timeout, as durations are written.
std::string shown(Duration duration) { return format_duration(duration); }

// The client library stops connecting after two thirds of the requested time.
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
  return good_if(
      longest >= usual, Level::warning, "session timeouts", text,
      text + "; the usual lease of 30s is refused: raise maxSessionTimeout, or set a lease");
}

std::string refusal(const Reply& reply, const Options& options) {
  return error_from(reply.code, options.shown(), Sent::reading).message;
}

// A member of an ensemble publishes its configuration there.
Finding examine_servers(Session& session, const Options& options, TimePoint by) {
  const Result<Replies> replies = session.run({get("/zookeeper/config")}, by);
  if (!replies) return unreadable(Level::warning, "servers", replies.error().message);
  const Reply& reply = replies->back();
  if (!reply.ok()) return unreadable(Level::warning, "servers", refusal(reply, options));
  return good_if(!reply.text.empty(), Level::warning, "servers", "members of an ensemble",
                 "a standalone one: clients that connect while it starts may get no answer for two "
                 "thirds of their session's timeout, as an ensemble's do not");
}

// What the user may do, judged by the rights on the settings: most users can't see the digests.
Finding examine_rights(Session& session, const Options& options, TimePoint by) {
  if (options.user.empty()) {
    return warning("rights",
                   "no user in the address: everybody who reaches the servers may break and forge "
                   "holds; name one, also for lockset init");
  }
  const std::string user = in_quotes(options.user);
  Finding unknown = good("rights", "the nodes are for the user " + user);
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
      return findings::rights(
          user, (entry.rights & ZOO_PERM_WRITE) != 0 ? Role::operators : Role::programs);
    }
    return owner(user, rights.size() > 1
                           ? ""
                           : ", and so may everybody who has its password: give programs users of "
                             "their own with lockset init --program");
  }
  return unknown;
}

Finding examine_space(Session& session, const Options& options, TimePoint by) {
  const std::string where = head_path(options.root());
  const Result<Replies> replies = session.run({sync(where), get(where)}, by);
  if (!replies) return unreadable(Level::warning, "space", replies.error().message);
  const Reply& reply = replies->back();
  if (reply.code == ZNONODE) {
    return no_space(Level::unsafe, "there is none at " + options.root() + ": run lockset init");
  }
  if (!reply.ok()) return unsafe("space", refusal(reply, options));
  const std::optional<std::string> generation = generation_from(reply.text);
  if (!generation) {
    return unsafe("space", config_from_version_1(reply.text)
                               ? "of an older version of Lockset: run lockset init"
                               : "of another version of Lockset");
  }
  const Paths paths(options.root(), *generation);
  const Result<Replies> read = session.run({get(paths.config()), get(paths.settings())}, by);
  if (!read) return unreadable(Level::warning, "space", read.error().message);
  if (read->front().code == ZNONODE) {
    return no_space(Level::unsafe, "there is no more than a part of it at " + options.root() +
                                       ": run lockset init");
  }
  if (!read->front().ok()) return unsafe("space", refusal(read->front(), options));
  const auto config = config_from(read->front().text, read->back().text);
  if (config && config->layout != newest_layout) {
    return unsafe("space", "of an older version of Lockset: run lockset init");
  }
  return good_if(config.has_value(), Level::unsafe, "space", options.root(),
                 "of another version of Lockset");
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
  findings.push_back(examine_rights(**session, options, by));
  findings.push_back(encryption(false, false,
                                "none, as the client library has no TLS: put a tunnel before the "
                                "servers, unless the network is trusted"));
  findings.push_back(examine_space(**session, options, by));
  return findings;
}

}  // namespace lockset::zookeeper
