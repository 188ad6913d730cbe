// What the backend is made of, and what it can do.
#include "backends/mysql/backend.h"

#include <utility>

namespace lockset::mysql {

MysqlBackend::MysqlBackend(std::unique_ptr<Store> store)
    : store_(std::move(store)),
      poller_([this](const std::vector<std::int64_t>& stamps) { return look(stamps); }) {}

Traits MysqlBackend::traits() const {
  Traits traits;
  traits.push_wakeup = true;  // by a poller that costs the store little, see waiting.h
  traits.permanent_leases = true;
  traits.holds_outlive_process = true;
  traits.shared_between_processes = true;
  traits.floors = true;
  return traits;
}

}  // namespace lockset::mysql
