// Who may do what with a node.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/zookeeper/records.h"

namespace lockset::zookeeper {

struct AclEntry {
  std::int32_t rights = 0;  // ZOO_PERM_...
  std::string scheme;
  std::string id;  // "USER:DIGEST" of the scheme digest
  bool operator==(const AclEntry&) const = default;
};
using Acl = std::vector<AclEntry>;

// Of the nodes that programs make, and of those below which they make some.
Acl acl_of_locks(const Rights& rights);
// Of the nodes that programs write, and nobody below.
Acl acl_of_config(const Rights& rights);
// Of those that programs read, and operators alone write.
Acl acl_of_settings(const Rights& rights);

// "USER:DIGEST", where DIGEST is SHA-1 in base64.
bool is_digest_id(std::string_view account);

}  // namespace lockset::zookeeper
