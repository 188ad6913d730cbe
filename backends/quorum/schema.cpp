#include "backends/quorum/schema.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace lockset::quorum {
namespace {

using State = QuorumMark::State;

struct Founding {
  const NodeAddress* address = nullptr;
  std::unique_ptr<Backend> store;
  SpaceConfig config;
  std::optional<QuorumMark> mark;
};

Error named(const Founding& node, const Error& why) {
  return {why.code, node.address->name + ": " + why.message};
}

Status read(Founding& node, TimePoint by) {
  Result<SpaceConfig> config = node.store->load_config(by);
  if (!config) return named(node, config.error());
  node.config = *std::move(config);
  node.mark = QuorumMark::decode(node.config.migration_phase);
  return {};
}

Result<std::vector<Founding>> open_all(const std::vector<NodeAddress>& addresses, TimePoint by) {
  std::vector<Founding> nodes;
  for (const NodeAddress& address : addresses) {
    Founding& node = nodes.emplace_back();
    node.address = &address;
    Result<std::unique_ptr<Backend>> store = address.open(by);
    if (!store) return named(node, store.error());
    node.store = *std::move(store);
    const Traits traits = node.store->traits();
    if (!traits.can_migrate || traits.session_leases) {
      return named(node,
                   {Errc::unsupported, "this kind of lock space can't be a node of a quorum"});
    }
    if (Status status = read(node, by); !status) return std::move(status).error();
    if (!node.mark && node.config.migration_phase != 0) {
      return named(node, {Errc::misconfigured, "it takes part in a migration"});
    }
  }
  return nodes;
}

// What the marks have in common; unset without any.
Result<std::optional<QuorumMark>> common(const std::vector<Founding>& nodes) {
  std::optional<QuorumMark> newest;
  std::set<int> indexes;
  for (const Founding& node : nodes) {
    if (!node.mark) continue;
    if (node.mark->nodes != static_cast<int>(nodes.size()) ||
        (newest && newest->quorum != node.mark->quorum)) {
      return named(node, {Errc::misconfigured, "it is a node of another quorum"});
    }
    if (!indexes.insert(node.mark->index).second) {
      return named(node, {Errc::misconfigured,
                          "it is the same lock space as another node of this address, or a copy"});
    }
    if (!newest || node.mark->generation > newest->generation) newest = node.mark;
  }
  return newest;
}

// The change is refused by the node if somebody changed it meanwhile.
Status set_mark(Founding& node, const QuorumMark& mark, TimePoint by) {
  if (node.mark == mark) return {};
  const Result<SpaceConfig> config =
      node.store->change_config(SetMigrationPhase{mark.encode(), node.config.version}, by);
  if (!config) return named(node, config.error());
  if (config->migration_phase != mark.encode()) {
    return named(node, {Errc::unavailable, "its configuration was changed meanwhile: try again"});
  }
  return read(node, by);
}

// The node has what the others have, as far as it has to. Its stamps are greater than `above`.
Status copy_config(Founding& node, const SpaceConfig& from, Stamp above, TimePoint by) {
  std::vector<ConfigChange> changes;
  if (node.config.max_lease != from.max_lease) changes.emplace_back(SetMaxLease{from.max_lease});
  for (const auto& [name, entry] : from.permits) {
    const auto at = node.config.permits.find(name);
    const SpaceConfig::Entry here =
        at == node.config.permits.end() ? SpaceConfig::Entry{} : at->second;
    if (here.read != entry.read) changes.emplace_back(SetPermits{name, Mode::read, entry.read});
    if (here.write != entry.write) changes.emplace_back(SetPermits{name, Mode::write, entry.write});
  }
  changes.emplace_back(RaiseStampBase{above});
  for (const ConfigChange& change : changes) {
    if (Result<SpaceConfig> done = node.store->change_config(change, by); !done) {
      return named(node, done.error());
    }
  }
  return read(node, by);
}

// A hold on a reserved name of the node; unset: somebody has it.
Result<std::optional<Stamp>> hold_alone(Founding& node, std::string_view name, Duration lease,
                                        TimePoint by) {
  const LockSet set = *LockSet::make({write(std::string(name))}, LockSet::Names::reserved_too);
  const Owner owner{"lockset", "a node that joins a quorum", 0, "a node that joins a quorum"};
  const std::uint32_t permits[] = {1};
  AcquireRequest request;
  request.set = &set;
  request.permits = permits;
  request.config_version = node.config.version;
  request.max_overtakes = unlimited_overtakes;
  request.token = Token::random();
  request.owner = &owner;
  request.lease = lease;
  request.by = by;
  const Result<AcquireOutcome> outcome = node.store->try_acquire(request);
  if (!outcome) return named(node, outcome.error());
  if (const Grant* grant = std::get_if<Grant>(&*outcome)) return std::optional(grant->stamp);
  if (std::holds_alternative<Busy>(*outcome)) return std::optional<Stamp>();
  return named(node, {Errc::unavailable, "its configuration was changed meanwhile: try again"});
}

// Until it ends, which the node's own clock decides, the node does not count.
Status start_waiting(Founding& node, Duration longest, TimePoint by) {
  // Taken already: it waits since an earlier run that did not come to its end.
  const Result<std::optional<Stamp>> waits = hold_alone(node, joining_name, longest, by);
  return waits ? Status() : Status(waits.error());
}

// A stamp above all that this node has drawn.
Result<Stamp> draw(Founding& node, TimePoint by) {
  const std::string name = "@quorum:" + Token::random().hex();
  const Result<std::optional<Stamp>> drawn = hold_alone(node, name, std::chrono::seconds(1), by);
  if (!drawn) return drawn.error();
  static_cast<void>(node.store->release(HoldRef(**drawn), "lockset", by).ok());
  return **drawn;
}

Status found(std::vector<Founding>& nodes, std::optional<QuorumMark> mark, TimePoint by) {
  if (!mark) {
    mark.emplace();
    const Token random = Token::random();
    mark->quorum = 1 + (static_cast<std::uint32_t>(random.bytes[0]) << 16 |
                        static_cast<std::uint32_t>(random.bytes[1]) << 8 | random.bytes[2]) %
                           most_quorum_number;
    mark->nodes = static_cast<int>(nodes.size());
  }
  // Nobody takes locks before each node has its mark, so none of them needs to wait.
  for (const State state : {State::founding, State::member}) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      mark->state = state;
      mark->index = static_cast<int>(i);
      if (Status status = set_mark(nodes[i], *mark, by); !status) return status;
    }
  }
  return {};
}

// Some nodes have taken locks as nodes of this quorum, and others do not know it.
Status join(std::vector<Founding>& nodes, QuorumMark mark, TimePoint by) {
  std::set<int> unused;
  for (int index = 0; index < mark.nodes; ++index) unused.insert(index);
  Duration longest{};
  const SpaceConfig* configured = nullptr;
  for (const Founding& node : nodes) {
    if (!node.mark) continue;
    unused.erase(node.mark->index);
    longest = std::max(longest, node.config.max_lease);
    if (node.mark->state == State::member) configured = &node.config;
  }
  // The others first: whoever still uses an earlier list of nodes finds a majority changed, and can
  // take no locks with a node that was replaced.
  ++mark.generation;
  for (Founding& node : nodes) {
    if (!node.mark) continue;
    mark.state = node.mark->state == State::joining ? State::joining : State::member;
    mark.index = node.mark->index;
    if (Status status = set_mark(node, mark, by); !status) return status;
  }
  // Stamps may be ahead of the calendar, so an empty node would draw lower ones than it once did.
  // At least one node of each earlier majority still knows how far they are.
  Stamp greatest;
  for (Founding& node : nodes) {
    if (!node.mark) continue;
    const Result<Stamp> drawn = draw(node, by);
    if (!drawn) return drawn.error();
    greatest = std::max(greatest, *drawn);
  }
  for (Founding& node : nodes) {
    if (node.mark) continue;
    if (configured != nullptr) {
      if (Status status = copy_config(node, *configured, greatest, by); !status) return status;
    }
    if (Status status = start_waiting(node, longest, by); !status) return status;
    mark.state = State::joining;
    mark.index = *unused.begin();
    unused.erase(unused.begin());
    if (Status status = set_mark(node, mark, by); !status) return status;
  }
  return {};
}

}  // namespace

Result<NodeConfig> read_node(Backend& store, TimePoint by) {
  Result<SpaceConfig> config = store.load_config(by);
  if (!config) return std::move(config).error();
  NodeConfig read{*std::move(config), false};
  const std::optional<QuorumMark> mark = QuorumMark::decode(read.config.migration_phase);
  if (!mark || mark->state != State::joining) return read;
  const Result<Inspection> waits =
      store.inspect({InspectQuery::Match::name, std::string(joining_name)}, by);
  if (!waits) return waits.error();
  read.waiting_to_join = !waits->holds.empty();
  return read;
}

Status init_nodes(const std::vector<NodeAddress>& addresses, TimePoint by) {
  Result<std::vector<Founding>> nodes = open_all(addresses, by);
  if (!nodes) return std::move(nodes).error();
  Result<std::optional<QuorumMark>> mark = common(*nodes);
  if (!mark) return std::move(mark).error();
  const auto has = [&](State state) {
    return std::any_of(nodes->begin(), nodes->end(), [&](const Founding& node) {
      return node.mark && node.mark->state == state;
    });
  };
  if (!has(State::member) && !has(State::joining)) return found(*nodes, *mark, by);
  const bool complete = std::all_of(nodes->begin(), nodes->end(), [&](const Founding& node) {
    return node.mark && node.mark->same_quorum(**mark);
  });
  if (!complete) return join(*nodes, **mark, by);
  // What an earlier run has left to do.
  for (Founding& node : *nodes) {
    QuorumMark own = *node.mark;
    if (own.state == State::joining) {
      const Result<NodeConfig> read = read_node(*node.store, by);
      if (!read) return named(node, read.error());
      if (read->waiting_to_join) continue;
    }
    own.state = State::member;
    if (Status status = set_mark(node, own, by); !status) return status;
  }
  return {};
}

}  // namespace lockset::quorum
