// Whether nobody listens at any server of an address.
//
// The client library does not report that a connection was refused: it tries the next server, round
// and round. Without this check a caller would wait for as long as a server might take to answer.
#pragma once

#include <string>

namespace lockset::zookeeper {

// True if each server, "h1:p1,h2:p2", refused a connection just now. False also where that is not
// known at once: a name is not known, a packet was lost.
bool all_refuse(const std::string& hosts);

}  // namespace lockset::zookeeper
