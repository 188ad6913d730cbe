// A small store in ZooKeeper: a node for each name, whose children are its holders. To take a set,
// a client reads the children and versions of its nodes. If there are no children, one
// multi-operation raises the versions, if they are unchanged, and creates the children.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lockset/backend.h"

namespace lockset::mutants {

struct ZookeeperSteps {
  // Right: true. Otherwise the nodes' versions may be any.
  bool checks_versions = true;
  // Right: false: the stamp is the transaction of the multi-operation. Otherwise that of an earlier
  // write.
  bool stamp_first = false;
};

// Makes the nodes of these names. `hosts`: "host:port".
void make_zookeeper_store(const std::string& hosts, const std::vector<std::string>& names);
// For one client.
std::shared_ptr<Backend> open_zookeeper_store(const std::string& hosts,
                                              const ZookeeperSteps& steps);

}  // namespace lockset::mutants
