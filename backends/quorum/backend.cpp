#include "backends/quorum/backend.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#include "core/shortage.h"
#include "core/time_math.h"

namespace lockset::quorum {
namespace {

// What all of these can do. A node that is not open yet may turn out to be able to do less: then
// its part of a hold may be missing, and the majority counts.
Traits common_traits(const std::vector<std::unique_ptr<Node>>& nodes) {
  Traits result;
  result.push_wakeup = true;
  result.holds_outlive_process = true;
  result.shared_between_processes = true;
  result.ends_with_process = true;
  bool first = true;
  for (const auto& node : nodes) {
    const Backend* const store = node->opened();
    if (store == nullptr) continue;
    const Traits one = store->traits();
    result.push_wakeup = result.push_wakeup && one.push_wakeup;
    result.holds_outlive_process = result.holds_outlive_process && one.holds_outlive_process;
    result.shared_between_processes =
        result.shared_between_processes && one.shared_between_processes;
    result.ends_with_process = result.ends_with_process && one.ends_with_process;
    result.renew_chunk = std::min(result.renew_chunk, one.renew_chunk);
    result.clock = first || result.clock == one.clock ? one.clock : nullptr;
    first = false;
  }
  // ADR 0073 says why.
  result.counted_permits = false;
  result.can_reclaim = false;
  result.can_migrate = false;
  return result;
}

}  // namespace

QuorumBackend::QuorumBackend(std::vector<NodeAddress> nodes)
    : time_(nodes.size()), configs_(nodes.size()) {
  for (NodeAddress& each : nodes) {
    nodes_.push_back(std::make_unique<Node>(std::move(each), [this] { caretaker_->ring(); }));
  }
  caretaker_ = std::make_unique<Caretaker>(
      nodes_, [this](std::size_t seat, Backend& store, TimePoint by) -> Node::Trouble {
        const Result<NodeConfig> read = read_config(seat, store, by);
        return read ? Node::Trouble() : read.error();
      });
}

QuorumBackend::~QuorumBackend() {
  caretaker_->stop();
  for (const auto& node : nodes_) node->close();
}

Status QuorumBackend::open(TimePoint by) {
  try {
    caretaker_->start();
  } catch (const std::system_error& error) {
    return Error{Errc::unavailable, "can't start the thread that looks after the quorum: " +
                                        text_of_errno(error.code().value())};
  }
  const Result<Now> view = refresh(by);
  if (!view) return view.error();
  traits_ = common_traits(nodes_);
  clock_ = LeaseClock(traits_.clock);
  return {};
}

Result<std::unique_ptr<Backend>> open_quorum_backend(std::vector<NodeAddress> nodes, TimePoint by) {
  auto backend = std::make_unique<QuorumBackend>(std::move(nodes));
  if (Status status = backend->open(by); !status) return std::move(status).error();
  return std::unique_ptr<Backend>(std::move(backend));
}

QuorumBackend::Seats QuorumBackend::counting(const View& view) {
  Seats seats;
  for (const View::Seat& each : view.seats) seats.push_back(each.counts);
  return seats;
}

bool QuorumBackend::majority_is_up() const {
  const auto up = std::count_if(nodes_.begin(), nodes_.end(),
                                [](const auto& node) { return !node->is_down(); });
  return static_cast<std::size_t>(up) >= majority();
}

void QuorumBackend::tidy(std::size_t seat, KnownHold part, TimePoint until) {
  caretaker_->give_back({.seat = seat, .part = std::move(part), .until = until});
}

Result<std::size_t> QuorumBackend::reclaim(std::string_view /*app*/, std::int64_t /*epoch*/,
                                           TimePoint /*by*/) {
  return Error{Errc::unsupported, "a quorum can't reclaim the holds of an application"};
}

Result<std::size_t> QuorumBackend::sweep(TimePoint by) {
  const Now view = now();
  const auto gather =
      ask<std::size_t>(counting(*view), by, Urgency::usual,
                       [by](std::size_t, Backend& store) { return store.sweep(by); });
  const auto answers = gather->wait_for_all(by);
  // Parts, not holds: which of them belong together nobody knows any more.
  std::size_t removed = 0;
  for (const auto& answer : answers) {
    if (answer && answer->ok()) removed += **answer;
  }
  if (good_ones<std::size_t>(answers) < majority()) return no_majority<std::size_t>(answers);
  return removed;
}

}  // namespace lockset::quorum
