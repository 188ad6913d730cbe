// A waiting acquire. It waits at one node, the one with the lowest index that is up: the same one
// for all clients, so that its queue decides who comes next, and not one queue here and another
// there. Releases come to that node last.
#pragma once

#include <memory>
#include <string>

#include "backends/quorum/backend.h"

namespace lockset::quorum {

struct QuorumBackend::Ticket final : WaitTicket {
  std::size_t seat = 0;
  // Null: the node has nothing to wait for, because the hold in the way has no part there.
  std::shared_ptr<WaitTicket> there;
  // The node no longer knows the ticket: its wait was ended, or ended when a part was granted.
  bool over = false;

  // Who was in the way by the stamp of the node, and what that hold is called. Looked up once.
  Stamp part_in_way;
  Stamp holder;
  std::string holder_label;
};

}  // namespace lockset::quorum
