// What all parts of an open space share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/zookeeper/address.h"
#include "backends/zookeeper/config_node.h"
#include "backends/zookeeper/name_cache.h"
#include "backends/zookeeper/own_holds.h"
#include "backends/zookeeper/paths.h"
#include "backends/zookeeper/sessions.h"

namespace lockset::zookeeper {

// Thread-safe.
class OpenSpace {
 public:
  explicit OpenSpace(Options given)
      : options(std::move(given)),
        where(options.shown()),
        paths(options.root()),
        sessions(options),
        config(paths, sessions, where) {}
  OpenSpace(const OpenSpace&) = delete;
  OpenSpace& operator=(const OpenSpace&) = delete;
  // Answers that come while the sessions end still find `own`, which keeps none of them.
  ~OpenSpace() { own.take_all(); }

  const Options options;
  const std::string where;  // for messages
  const Paths paths;
  OwnHolds own;
  NameCache names;
  Sessions sessions;
  ConfigNode config;

  // The requests that end a hold of this client: all of its nodes, or none.
  [[nodiscard]] Request end_of(const std::string& token,
                               const std::vector<LockRequest>& items) const {
    std::vector<Request> parts;
    parts.push_back(remove(paths.hold(token)));
    for (const LockRequest& item : items) parts.push_back(remove(paths.holder(item, token)));
    return multi(std::move(parts));
  }
  // Another client's: it is told by this that there is something to look for (see `Breaks`).
  [[nodiscard]] Request end_of_other(const std::string& token,
                                     const std::vector<LockRequest>& items) const {
    Request end = end_of(token, items);
    end.parts.push_back(announcement());
    return end;
  }
  [[nodiscard]] Request announcement() const { return set(paths.holds(), "", any_version); }
};

}  // namespace lockset::zookeeper
