#include "backends/zookeeper/acl.h"

#include <zookeeper/zookeeper.h>

namespace lockset::zookeeper {
namespace {

Acl acl_of(const Rights& rights, std::int32_t of_operators, std::int32_t of_programs) {
  Acl acl;
  const auto add = [&](const std::vector<std::string>& ids, std::int32_t perms) {
    for (const std::string& id : ids) acl.push_back({perms, "digest", id});
  };
  add(rights.administrators, ZOO_PERM_ALL);
  add(rights.operators, of_operators);
  add(rights.programs, of_programs);
  return acl;
}

}  // namespace

Acl acl_of_locks(const Rights& rights) {
  const std::int32_t perms = ZOO_PERM_READ | ZOO_PERM_WRITE | ZOO_PERM_CREATE | ZOO_PERM_DELETE;
  return acl_of(rights, perms, perms);
}

Acl acl_of_config(const Rights& rights) {
  const std::int32_t perms = ZOO_PERM_READ | ZOO_PERM_WRITE;
  return acl_of(rights, perms, perms);
}

Acl acl_of_settings(const Rights& rights) {
  return acl_of(rights, ZOO_PERM_READ | ZOO_PERM_WRITE, ZOO_PERM_READ);
}

bool is_digest_id(std::string_view account) {
  constexpr std::size_t size = 28;  // 20 bytes in base64
  const std::size_t colon = account.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const std::string_view user = account.substr(0, colon);
  const std::string_view digest = account.substr(colon + 1);
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (digest.size() != size || digest.back() != '=') return false;
  if (digest.find_first_not_of(digits) != size - 1) return false;
  for (const char c : user) {
    if (c <= ' ' || c > '~' || c == ':') return false;
  }
  return true;
}

}  // namespace lockset::zookeeper
