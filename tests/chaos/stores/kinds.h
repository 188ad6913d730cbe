// The stores of each kind, one file each. Used only inside this folder.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/chaos/stores/store.h"

namespace lockset::chaos {

struct Kind {
  std::string name;
  std::function<std::optional<std::string>(const StoreOptions&)> unavailable;
  std::function<std::unique_ptr<Store>(const StoreOptions&)> start;
};

std::vector<Kind> sqlite_kinds();
std::vector<Kind> postgresql_kinds();
std::vector<Kind> mysql_kinds();
std::vector<Kind> redis_kinds();
std::vector<Kind> redis_sentinel_kinds();
std::vector<Kind> memcached_kinds();
std::vector<Kind> zookeeper_kinds();

}  // namespace lockset::chaos
