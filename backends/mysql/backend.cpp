// What the backend is made of, and what it can do.
#include "backends/mysql/backend.h"

#include <utility>

#include "backends/answers.h"

namespace lockset::mysql {

MysqlBackend::MysqlBackend(std::unique_ptr<Store> store)
    : store_(std::move(store)),
      parking_(*store_),
      listener_([this](server::Listener& listener) { parking_.listen(listener); }) {}

MysqlBackend::~MysqlBackend() { parking_.end(); }

Traits MysqlBackend::traits() const {
  Traits traits;
  traits.push_wakeup = true;
  traits.queued_wakeup = true;
  traits.bounded_overtaking = true;
  traits.lists_waiters = true;
  traits.permanent_leases = true;
  traits.holds_outlive_process = true;
  traits.shared_between_processes = true;
  traits.floors = true;
  traits.observing = true;
  traits.converting = true;
  return traits;
}

Error MysqlBackend::quarantine(Duration left, std::string_view what) const {
  return in_quarantine(store_->options().shown(), {}, what, left);
}

}  // namespace lockset::mysql
