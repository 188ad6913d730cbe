// Waiters: see ticket.h.
#include <algorithm>
#include <chrono>
#include <utility>

#include "backends/quorum/backend.h"
#include "backends/quorum/ticket.h"
#include "core/time_math.h"

namespace lockset::quorum {
namespace {

// Where no node can tell when to come again.
constexpr Duration pause = std::chrono::milliseconds(25);

}  // namespace

Status QuorumBackend::await_change(WaitTicket& ticket, TimePoint until, std::stop_token stop) {
  auto& mine = static_cast<Ticket&>(ticket);
  Backend* const store = nodes_[mine.seat]->opened();
  if (mine.over || !mine.there || store == nullptr || nodes_[mine.seat]->is_down()) {
    sleep_until(std::min(until, BootClock::now() + thread_random().between(pause / 2, pause)),
                stop);
    return {};
  }
  return store->await_change(*mine.there, until, std::move(stop));
}

bool QuorumBackend::has_changed(WaitTicket& ticket, TimePoint since) {
  auto& mine = static_cast<Ticket&>(ticket);
  if (mine.over || !mine.there || nodes_[mine.seat]->is_down()) {
    return BootClock::now() >= later(since, pause);
  }
  return nodes_[mine.seat]->opened()->has_changed(*mine.there, since);
}

void QuorumBackend::end_wait(WaitTicket& ticket, TimePoint by) {
  auto& mine = static_cast<Ticket&>(ticket);
  // Only once: a node that does not answer must not cost each attempt its time.
  if (std::exchange(mine.over, true) || !mine.there) return;
  const std::shared_ptr<WaitTicket> there = mine.there;
  Node& node = *nodes_[mine.seat];
  const auto done = std::make_shared<Gather<bool>>(1);
  done->expect();
  node.ask(by, Urgency::usual, false,
           [there, by, done](const Result<Backend*>& store) -> Node::Trouble {
             if (store) (*store)->end_wait(*there, by);
             done->put(0, true);
             return {};
           });
  static_cast<void>(done->wait_for_all(std::min(by, BootClock::now() + std::chrono::seconds(1))));
}

}  // namespace lockset::quorum
