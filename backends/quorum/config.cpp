// The configuration: read from all nodes, and changed in all of them.
#include <algorithm>
#include <string>
#include <utility>

#include "backends/quorum/backend.h"
#include "backends/quorum/schema.h"
#include "core/time_math.h"

namespace lockset::quorum {
namespace {

using std::chrono::milliseconds;

// Two changes at once would otherwise come to the nodes in different orders.
constexpr std::string_view changing_name = "@quorum:change";
constexpr Duration longest_change = std::chrono::seconds(30);

Status check(const ConfigChange& change) {
  if (std::holds_alternative<SetMigrationPhase>(change)) {
    return Error{Errc::unsupported, "a quorum can't be moved to another store"};
  }
  if (std::holds_alternative<SetMaxOvertakes>(change)) {
    return Error{Errc::unsupported, "a quorum can't bound overtaking"};
  }
  const auto* const permits = std::get_if<SetPermits>(&change);
  if (permits != nullptr && !can_be_counted(permits->mode, permits->permits)) {
    return Error{Errc::unsupported,
                 "in a quorum a name admits one write, and one read or any number of reads (" +
                     std::to_string(max_permits) + "): a majority can't count others"};
  }
  return {};
}

// As the nodes have it.
ConfigChange in_nodes(const ConfigChange& change) {
  const auto* const base = std::get_if<RaiseStampBase>(&change);
  return base != nullptr ? ConfigChange(RaiseStampBase{least_part(base->at_least)}) : change;
}

}  // namespace

QuorumBackend::Now QuorumBackend::now() const {
  const std::lock_guard lock(mutex_);
  return now_;
}

Result<NodeConfig> QuorumBackend::read_config(std::size_t seat, Backend& store, TimePoint by) {
  Result<NodeConfig> read = read_node(store, by);
  if (!read) return read;
  const std::lock_guard lock(mutex_);
  if (now_ && configs_[seat] == *read) return read;
  configs_[seat] = *read;
  View view = put_together(configs_);
  // Two different views never have the same version, even if a node has gone back.
  view.together.version = last_version_ = std::max(view.together.version, last_version_ + 1);
  now_ = std::make_shared<const View>(std::move(view));
  return read;
}

Result<QuorumBackend::Now> QuorumBackend::refresh(TimePoint by) {
  const auto gather = ask<NodeConfig>(
      all_seats(), by, Urgency::usual,
      [this, by](std::size_t seat, Backend& store) { return read_config(seat, store, by); });
  const auto enough = [this](const Gather<NodeConfig>::Answers& so_far) {
    return good_ones<NodeConfig>(so_far) >= majority();
  };
  const auto answers = gather->wait(by, enough, long_grace);
  if (good_ones<NodeConfig>(answers) < majority()) return no_majority<NodeConfig>(answers);
  Now view = now();
  if (view->refusal) return *view->refusal;
  return view;
}

Result<SpaceConfig> QuorumBackend::load_config(TimePoint by) {
  const Result<Now> view = refresh(by);
  if (!view) return view.error();
  return (*view)->together;
}

// A change needs every node: one that misses it would go on granting by what it was before.
Result<SpaceConfig> QuorumBackend::change_config(const ConfigChange& change, TimePoint by) {
  if (Status status = check(change); !status) return std::move(status).error();
  const auto gather = ask<NodeConfig>(
      all_seats(), by, Urgency::usual,
      [this, by](std::size_t seat, Backend& store) { return read_config(seat, store, by); });
  const auto answers = gather->wait_for_all(by);
  for (std::size_t seat = 0; seat < nodes_.size(); ++seat) {
    if (answers[seat] && answers[seat]->ok()) continue;
    const Error why = answers[seat] ? answers[seat]->error()
                                    : Error{Errc::unavailable, "it did not answer in time"};
    return Error{Errc::unavailable, "a change of the configuration needs every node of a quorum: " +
                                        nodes_[seat]->named(why).message};
  }
  const Now view = now();
  for (std::size_t seat = 0; seat < nodes_.size(); ++seat) {
    if (view->seats[seat].counts) continue;
    return Error{Errc::misconfigured,
                 "a change of the configuration needs every node of a quorum: " +
                     nodes_[seat]->named({Errc::misconfigured, view->seats[seat].trouble}).message};
  }
  return change_all(in_nodes(change), *view, by);
}

Result<SpaceConfig> QuorumBackend::change_all(const ConfigChange& change, const View& view,
                                              TimePoint by) {
  // From the highest index to the lowest, where those wait who may be admitted by the change.
  std::vector<std::size_t> order;
  for (int index = static_cast<int>(nodes_.size()) - 1; index >= 0; --index) {
    order.push_back(*view.seat_of(index));
  }
  const std::size_t last = order.back();
  Backend& guard = *nodes_[last]->opened();
  const LockSet alone =
      *LockSet::make({write(std::string(changing_name))}, LockSet::Names::reserved_too);
  const Owner owner{"lockset", "a change of the configuration", 0, "a change of the configuration"};
  const std::uint32_t permits[] = {1};
  std::optional<SpaceConfig> present = view.seats[last].read->config;
  std::optional<Grant> turn;
  while (!turn) {
    AcquireRequest request;
    request.set = &alone;
    request.permits = permits;
    request.config_version = present->version;
    request.max_overtakes = unlimited_overtakes;
    request.token = Token::random();
    request.owner = &owner;
    request.lease = std::min<Duration>(longest_change, present->max_lease);
    request.by = by;
    Result<AcquireOutcome> outcome = guard.try_acquire(request);
    if (!outcome) return Error{Errc::unavailable, nodes_[last]->named(outcome.error()).message};
    if (Grant* grant = std::get_if<Grant>(&*outcome)) turn = std::move(*grant);
    if (std::holds_alternative<Stale>(*outcome)) {
      const Result<NodeConfig> read = read_config(last, guard, by);
      if (!read) return nodes_[last]->named(read.error());
      present = read->config;
    }
    if (BootClock::now() >= by) {
      return Error{Errc::unavailable, "another change of the quorum's configuration is under way"};
    }
    if (!turn)
      sleep_until(BootClock::now() + thread_random().between(milliseconds(1), milliseconds(10)),
                  {});
  }
  bool changed = false;
  std::optional<Error> trouble;
  for (const std::size_t seat : order) {
    Backend& store = *nodes_[seat]->opened();
    const Result<SpaceConfig> config = store.change_config(change, by);
    if (!config) {
      trouble = nodes_[seat]->named(config.error());
      // Nothing is certain about the others any more.
      if (changed) {
        trouble = Error{Errc::indeterminate,
                        "the change was made in some nodes of the quorum, and may be missing in "
                        "others; make it again: " +
                            trouble->message};
      }
      break;
    }
    changed = true;
    const Result<NodeConfig> read = read_config(seat, store, by);
    if (!read) trouble = Error{Errc::indeterminate, nodes_[seat]->named(read.error()).message};
    if (trouble) break;
  }
  static_cast<void>(guard.release(turn->stamp, owner.app, by).ok());
  if (trouble) return *trouble;
  return now()->together;
}

}  // namespace lockset::quorum
