// Makes lock spaces the nodes of one quorum, and reads what they say about that.
#pragma once

#include <vector>

#include "backends/quorum/node.h"
#include "backends/quorum/view.h"

namespace lockset::quorum {

// The name whose hold keeps a joining node from counting until it ends.
inline constexpr std::string_view joining_name = "@quorum:joining";

Result<NodeConfig> read_node(Backend& store, TimePoint by);

// Founds a quorum of these spaces, or completes it: a node that was empty joins, and counts once
// the longest lease of before has ended. Harmless if there is nothing to do. Needs every node.
// Errc::misconfigured if one of them belongs to another quorum, or to a migration.
Status init_nodes(const std::vector<NodeAddress>& nodes, TimePoint by);

}  // namespace lockset::quorum
