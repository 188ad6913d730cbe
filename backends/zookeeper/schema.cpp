#include "backends/zookeeper/schema.h"

#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "backends/zookeeper/acl.h"
#include "backends/zookeeper/paths.h"
#include "backends/zookeeper/records.h"
#include "backends/zookeeper/sessions.h"

namespace lockset::zookeeper {
namespace {

// The first stamp of a space is the server's clock, in microseconds, and so is its first version.
Result<StoredConfig> first_config(Session& session, const Options& options, TimePoint by) {
  // A write without effect, which gets the clock and the zxid.
  const Result<Replies> replies = session.run({set(options.root(), "", any_version)}, by);
  if (!replies) return replies.error();
  const Reply& reply = replies->front();
  if (!reply.ok()) return error_from(reply.code, options.shown(), Sent::reading);
  StoredConfig stored;
  stored.config.version = reply.stat.changed_ms * 1000;
  stored.base = reply.stat.changed_ms * 1000 - reply.stat.changed;
  return stored;
}

Status make(Session& session, const Options& options, const std::string& path, TimePoint by) {
  const Result<Replies> made = session.run({create(path, "", Lasting::persistent)}, by);
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

// A space whose nodes are as ours, but whose programs know less.
struct Version2 {
  std::string path;
  StoredConfig stored;
  NodeStat stat;
};

// What the head of the space contains.
struct Layout {
  bool ready = false;
  std::vector<std::string> left_over;       // configurations of generations that the head lost
  std::int32_t head_version = any_version;  // any: there is no head
  std::optional<StoredConfig> version_1;    // the configuration of a space without generations
  std::optional<Version2> version_2;
};

Result<Layout> look(Session& session, const Options& options, TimePoint by) {
  const auto newer = [&] {
    return Error{Errc::misconfigured,
                 options.shown() + ": the space is of a newer version of Lockset: use that one"};
  };
  const std::string head = head_path(options.root());
  const Result<Replies> there = session.run({sync(head), get(head), children(options.root())}, by);
  if (!there) return there.error();
  const Reply& reply = (*there)[1];
  Layout layout;
  for (const std::string& child : (*there)[2].children) {
    if (!is_generation(child)) continue;
    const std::string path = Paths(options.root(), child).config();
    const Result<Replies> found = session.run({exists(path)}, by);
    if (!found) return found.error();
    if (found->front().ok()) layout.left_over.push_back(path);
  }
  if (reply.code == ZNONODE) return layout;
  if (!reply.ok()) return error_from(reply.code, options.shown(), Sent::reading);
  layout.head_version = reply.stat.version;
  const std::optional<std::string> generation = generation_from(reply.text);
  if (!generation) {
    layout.version_1 = config_from_version_1(reply.text);
    if (!layout.version_1) return newer();
    return layout;
  }
  const Paths paths(options.root(), *generation);
  const Result<Replies> read = session.run({get(paths.config()), get(paths.settings())}, by);
  if (!read) return read.error();
  const Reply& config = read->front();
  if (config.code == ZNONODE) return layout;  // someone has deleted a part
  if (!config.ok()) return error_from(config.code, options.shown(), Sent::reading);
  std::optional<StoredConfig> stored = config_from(config.text, read->back().text);
  if (!stored) return newer();
  layout.ready = stored->layout == newest_layout;
  if (!layout.ready) layout.version_2 = Version2{paths.config(), *std::move(stored), config.stat};
  return layout;
}

// Makes a new generation, as one step. False: another client changed the space meanwhile.
Result<bool> write_layout(Session& session, const Options& options, const Layout& layout,
                          TimePoint by) {
  Result<StoredConfig> config = first_config(session, options, by);
  if (!config) return config.error();
  if (layout.version_1) {
    const std::int64_t version =
        std::max(config->config.version, layout.version_1->config.version + 1);
    *config = *layout.version_1;
    config->layout = newest_layout;
    config->config.version = version;
  }
  const std::string generation = new_generation();
  const std::string head = head_path(options.root());
  const Paths paths(options.root(), generation);
  std::vector<Request> parts;
  if (layout.head_version == any_version) {
    parts.push_back(create(head, generation_text(generation), Lasting::persistent));
  } else {
    parts.push_back(set(head, generation_text(generation), layout.head_version));
  }
  for (const std::string& path : {paths.root(), paths.names(), paths.holds(), paths.queues(),
                                  paths.renewals(), paths.breaks()}) {
    parts.push_back(create(path, "", Lasting::persistent));
  }
  parts.push_back(create(paths.settings(), settings_text(*config), Lasting::persistent));
  parts.push_back(create(paths.config(), to_text(*config), Lasting::persistent));
  // Clients that still work in an old generation must not go on beside the new ones.
  for (const std::string& old : layout.left_over) parts.push_back(remove(old));
  // Fails if a hold lives there; and no new one can come, because the head is another one.
  const std::string old_holds = options.root() + "/holds";
  if (layout.version_1) parts.push_back(remove(old_holds));
  const Result<Replies> done = session.run({multi(std::move(parts))}, by);
  if (!done) return done.error();
  const int code = done->front().code;
  if (code == ZOK) return true;
  if (code == ZNOTEMPTY) {
    return Error{Errc::misconfigured,
                 options.shown() +
                     ": the space is of an older version of Lockset, and holds live in it: end the "
                     "programs that use it, then run lockset init again"};
  }
  if (code == ZNODEEXISTS || code == ZBADVERSION || code == ZNONODE) return false;
  if (code == ZNOAUTH) {
    return Error{Errc::misconfigured, options.shown() +
                                          ": this user may not make the space: give him the right, "
                                          "or name the user that made the nodes above it"};
  }
  return error_from(code, options.shown(), Sent::change);
}

// From now on programs of that version can't read the configuration, and grant nothing: its node's
// version has changed, too. What they hold stays, and they release it. False: another client
// changed the space meanwhile.
Result<bool> upgrade(Session& session, const Options& options, Version2 space, TimePoint by) {
  const Result<StoredConfig> now = first_config(session, options, by);
  if (!now) return now.error();
  space.stored.layout = newest_layout;
  space.stored.config.version = std::max(space.stored.config.version + 1, now->config.version);
  const Result<Replies> done =
      session.run({set(space.path, to_text(space.stored), space.stat.version)}, by);
  if (!done) return done.error();
  const int code = done->front().code;
  if (code == ZOK) return true;
  if (code == ZBADVERSION || code == ZNONODE) return false;
  return error_from(code, options.shown(), Sent::change);
}

// Removes what a space without generations left: names without holds, and queues. A rest that can't
// be removed does no harm.
Status remove_version_1(Session& session, const Options& options, TimePoint by) {
  for (const std::string& above : {options.root() + "/names", options.root() + "/queues"}) {
    const Result<Replies> list = session.run({children(above)}, by);
    if (!list) return list.error();
    if (!list->front().ok()) continue;
    std::vector<Request> requests;
    const auto send = [&] { return session.run(std::exchange(requests, {}), by); };
    for (const std::string& name : list->front().children) {
      requests.push_back(remove(below(above, name)));
      if (requests.size() < 1000) continue;
      if (const Result<Replies> sent = send(); !sent) return sent.error();
    }
    requests.push_back(remove(above));
    if (const Result<Replies> sent = send(); !sent) return sent.error();
  }
  return {};
}

}  // namespace

Status init(const Options& options, TimePoint by) {
  Sessions sessions(options);
  const Result<std::shared_ptr<Session>> opened = sessions.general(by);
  if (!opened) return opened.error();
  Session& session = **opened;
  const std::string root = options.root();
  for (std::size_t end = 1; end != std::string::npos;) {
    end = root.find('/', end);
    if (Status made = make(session, options, root.substr(0, end), by); !made) return made;
    if (end != std::string::npos) ++end;
  }
  while (true) {
    const Result<Layout> layout = look(session, options, by);
    if (!layout) return layout.error();
    if (layout->ready) return {};
    const Result<bool> done = layout->version_2 ? upgrade(session, options, *layout->version_2, by)
                                                : write_layout(session, options, *layout, by);
    if (!done) return done.error();
    if (*done && layout->version_1) return remove_version_1(session, options, by);
    if (BootClock::now() >= by) {
      return Error{Errc::unavailable, options.shown() + ": others changed it until the deadline"};
    }
  }
}

}  // namespace lockset::zookeeper
