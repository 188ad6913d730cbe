#include "backends/zookeeper/init.h"

#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "backends/zookeeper/paths.h"
#include "backends/zookeeper/records.h"
#include "backends/zookeeper/sessions.h"

namespace lockset::zookeeper {
namespace {

// The first stamp of a space is the server's clock, in microseconds.
Result<std::string> first_config(Session& session, const Options& options, const std::string& path,
                                 TimePoint by) {
  // A write, of no consequence, asks for the clock and the zxid.
  const Result<Replies> replies = session.run({set(path, "", any_version)}, by);
  if (!replies) return replies.error();
  const Reply& reply = replies->front();
  if (!reply.ok()) return error_from(reply.code, options.shown(), Sent::reading);
  StoredConfig stored;
  stored.config.version = 1;
  stored.base = reply.stat.changed_ms * 1000 - reply.stat.changed;
  return to_text(stored);
}

Status make(Session& session, const Options& options, const std::string& path,
            const std::string& data, TimePoint by) {
  const Result<Replies> made = session.run({create(path, data, Lasting::persistent)}, by);
  if (!made) return made.error();
  const int code = made->front().code;
  if (code == ZOK || code == ZNODEEXISTS) return {};
  if (code == ZNOAUTH) {
    return Error{Errc::misconfigured,
                 options.shown() + ": this user may not make " + path +
                     ": give him the right, or name the user that made the nodes above it"};
  }
  return error_from(code, options.shown(), Sent::change);
}

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

Finding examine_space(Session& session, const Options& options, TimePoint by) {
  const std::string where = Paths(options.root()).config();
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
  if (!config_from(reply.text)) {
    return {Finding::Level::unsafe, "lock space", "of another version of Lockset"};
  }
  return {Finding::Level::good, "lock space", options.root()};
}

}  // namespace

Status init(const Options& options, TimePoint by) {
  Sessions sessions(options);
  const Result<std::shared_ptr<Session>> opened = sessions.general(by);
  if (!opened) return opened.error();
  Session& session = **opened;
  const Paths paths(options.root());
  for (std::size_t end = 1; end != std::string::npos;) {
    end = paths.root().find('/', end);
    if (Status made = make(session, options, paths.root().substr(0, end), "", by); !made) {
      return made;
    }
    if (end != std::string::npos) ++end;
  }
  for (const std::string& path : {paths.names(), paths.holds(), paths.queues()}) {
    if (Status made = make(session, options, path, "", by); !made) return made;
  }
  const Result<Replies> there = session.run({sync(paths.config()), get(paths.config())}, by);
  if (!there) return there.error();
  const Reply& reply = there->back();
  if (reply.ok() && !config_from(reply.text)) {
    return Error{Errc::misconfigured, options.shown() +
                                          ": the space is of a newer version of Lockset: use that "
                                          "one"};
  }
  if (reply.ok()) return {};
  if (reply.code != ZNONODE) return error_from(reply.code, options.shown(), Sent::reading);
  const Result<std::string> config = first_config(session, options, paths.holds(), by);
  if (!config) return config.error();
  return make(session, options, paths.config(), *config, by);
}

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
  findings.push_back(options.user.empty()
                         ? Finding{Finding::Level::warning, "access",
                                   "no user in the address: everybody who reaches the servers "
                                   "may break and forge holds; name one, also for lockset init"}
                         : Finding{Finding::Level::good, "access",
                                   "the nodes are for the user " + in_quotes(options.user)});
  findings.push_back(
      {Finding::Level::warning, "transport", "not encrypted: the client library has no TLS"});
  findings.push_back(examine_space(**session, options, by));
  return findings;
}

}  // namespace lockset::zookeeper
