// "quorum:?of=ADDRESS&of=ADDRESS&of=ADDRESS".
//
// Plain values; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "backends/quorum/node.h"
#include "lockset/url.h"

namespace lockset::quorum {

struct Addresses {
  std::vector<std::string> of;  // 3, 5, 7 or 9
};

// Errc::invalid, in one line, for anything else.
Result<Addresses> addresses_of(const Url& url);

// "node 2 (redis://host/space)", without its secret. `position` counts from 0.
std::string node_name(std::size_t position, const std::string& address);

// The address of a quorum of these.
std::string quorum_url(const std::vector<std::string>& of);

// How each node is opened.
std::vector<NodeAddress> nodes_of(const Addresses& addresses);

}  // namespace lockset::quorum
