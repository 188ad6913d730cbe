#include "tests/chaos/stores/store.h"

#include <algorithm>
#include <stdexcept>

#include "tests/chaos/stores/kinds.h"

namespace lockset::chaos {
namespace {

// In the order in which a full run takes them. The first of a kind is its default.
const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = [] {
    std::vector<Kind> made;
    const auto add = [&made](const std::vector<Kind>& more) {
      made.insert(made.end(), more.begin(), more.end());
    };
#ifdef LOCKSET_HAS_SQLITE
    add(sqlite_kinds());
#endif
#ifdef LOCKSET_HAS_POSTGRESQL
    add(postgresql_kinds());
#endif
#ifdef LOCKSET_HAS_MYSQL
    add(mysql_kinds());
#endif
#ifdef LOCKSET_HAS_REDIS
    add(redis_kinds());
    add(redis_sentinel_kinds());
#endif
#ifdef LOCKSET_HAS_ZOOKEEPER
    add(zookeeper_kinds());
#endif
#ifdef LOCKSET_HAS_MEMCACHED
    add(memcached_kinds());
#endif
    return made;
  }();
  return all;
}

const Kind& kind_of(const std::string& name) {
  for (const Kind& kind : kinds()) {
    if (kind.name == name) return kind;
  }
  throw std::runtime_error("there is no store " + name);
}

}  // namespace

std::string_view to_string(FaultKind kind) noexcept {
  switch (kind) {
    case FaultKind::network:
      return "network";
    case FaultKind::server:
      return "server";
    case FaultKind::session:
      return "session";
    case FaultKind::load:
      return "load";
    case FaultKind::state:
      return "state";
    case FaultKind::clock:
      return "clock";
    case FaultKind::partition:
      return "partition";
    case FaultKind::restore:
      return "restore";
    case FaultKind::unfit:
      return "unfit";
  }
  return "?";
}

std::vector<std::string> Store::names() {
  std::vector<std::string> names;
  for (const Kind& kind : kinds()) names.push_back(kind.name);
  return names;
}

std::optional<std::string> Store::find(const std::string& name) {
  std::string asked = name;
  std::replace(asked.begin(), asked.end(), '_', '-');
  for (const Kind& kind : kinds()) {
    if (kind.name == asked || kind.name.substr(0, kind.name.find(':')) == asked) return kind.name;
  }
  return {};
}

std::optional<std::string> Store::unavailable(const std::string& name,
                                              const StoreOptions& options) {
  return kind_of(name).unavailable(options);
}

std::unique_ptr<Store> Store::start(const std::string& name, const StoreOptions& options) {
  return kind_of(name).start(options);
}

}  // namespace lockset::chaos
