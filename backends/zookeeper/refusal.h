// Detects that no server of an address listens.
//
// The client library does not report that a connection was refused: it tries the next server, again
// and again. Without this check a caller would wait as long as a server might take to answer.
#pragma once

#include <string>

namespace lockset::zookeeper {

// True if each server, "h1:p1,h2:p2", refused a connection just now. Also false if that is not
// known at once: a name can't be resolved, or a packet was lost.
bool all_refuse(const std::string& hosts);

}  // namespace lockset::zookeeper
