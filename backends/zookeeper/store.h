// Shared by all parts of an open space.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/zookeeper/address.h"
#include "backends/zookeeper/config.h"
#include "backends/zookeeper/name_cache.h"
#include "backends/zookeeper/own_holds.h"
#include "backends/zookeeper/paths.h"
#include "backends/zookeeper/sessions.h"

namespace lockset::zookeeper {

// One generation of the space: if the store has another one now, it has to be opened anew.
// Thread-safe.
class OpenSpace {
 public:
  // Errc::misconfigured if there is no space of this version.
  static Result<std::unique_ptr<OpenSpace>> open(const Options& options, TimePoint by);
  OpenSpace(const OpenSpace&) = delete;
  OpenSpace& operator=(const OpenSpace&) = delete;
  // Answers that arrive while the sessions end still find `own`, which keeps none of them.
  ~OpenSpace() { own.take_all(); }

  const Options options;
  const std::string where;  // for messages
  const std::string generation;
  const Paths paths;
  OwnHolds own;
  NameCache names;

 private:
  const std::unique_ptr<Sessions> sessions_;

 public:
  Sessions& sessions;
  ConfigNode config;

  // The generation that the store has now.
  [[nodiscard]] Result<std::string> generation_now(TimePoint by);

  // The requests that end a hold of this client: all of its nodes, or none.
  [[nodiscard]] Request end_of(const std::string& token,
                               const std::vector<LockRequest>& items) const {
    std::vector<Request> parts;
    parts.push_back(remove(paths.hold(token)));
    for (const LockRequest& item : items) parts.push_back(remove(paths.holder(item, token)));
    return multi(std::move(parts));
  }
  // For another client's hold: this also signals that client to look for it (see `Breaks`).
  [[nodiscard]] Request end_of_other(const std::string& token,
                                     const std::vector<LockRequest>& items) const {
    Request end = end_of(token, items);
    end.parts.push_back(announcement());
    return end;
  }
  // The same by a person, for any hold: that needs an operator.
  [[nodiscard]] Request breaking(const std::string& token,
                                 const std::vector<LockRequest>& items) const {
    Request end = end_of_other(token, items);
    end.parts.push_back(set(paths.breaks(), "", any_version));
    return end;
  }
  [[nodiscard]] Request announcement() const { return set(paths.holds(), "", any_version); }

 private:
  OpenSpace(Options given, std::string named, std::unique_ptr<Sessions> opened)
      : options(std::move(given)),
        where(options.shown()),
        generation(std::move(named)),
        paths(options.root(), generation),
        sessions_(std::move(opened)),
        sessions(*sessions_),
        config(paths, sessions, where) {}
  static Result<std::string> read_generation(Sessions& sessions, const Options& options,
                                             TimePoint by);
};

}  // namespace lockset::zookeeper
