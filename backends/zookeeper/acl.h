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

// For nodes that programs create, and for nodes below which they create some.
Acl acl_of_locks(const Rights& rights);
// For nodes that programs write, and below which nobody creates any.
Acl acl_of_config(const Rights& rights);
// For nodes that programs read, and only operators write.
Acl acl_of_settings(const Rights& rights);

// "USER:DIGEST", where DIGEST is SHA-1 in base64.
bool is_digest_id(std::string_view account);

}  // namespace lockset::zookeeper
