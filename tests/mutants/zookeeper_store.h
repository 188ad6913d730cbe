// A small store in ZooKeeper: a node for each name, whose children are its holders. Who wants a
// set reads the children and versions of its nodes; if there are no children, one multi-operation
// raises the versions, if they are still those, and creates the children.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lockset/backend.h"

namespace lockset::mutants {

struct ZookeeperSteps {
  // Right: true. Else the nodes' versions may be any.
  bool checks_versions = true;
  // Right: false: the stamp is the transaction of the multi-operation. Else that of a write
  // before it.
  bool stamp_first = false;
};

// The nodes of these names, new. `hosts`: "host:port".
void make_zookeeper_store(const std::string& hosts, const std::vector<std::string>& names);
// One client's.
std::shared_ptr<Backend> open_zookeeper_store(const std::string& hosts,
                                              const ZookeeperSteps& steps);

}  // namespace lockset::mutants
