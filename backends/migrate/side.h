// One of the two stores, opened when it is first needed: so a store that does not exist yet, or no
// longer, affects no client whose phase does not need it.
//
// Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "lockset/backend.h"

namespace lockset::migrate {

// Connects to the space. Any thread may call it, several at once too.
using OpenStore = std::function<Result<std::unique_ptr<Backend>>(TimePoint by)>;

class Side {
 public:
  explicit Side(OpenStore open) : open_(std::move(open)) {}
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  // The store, which lives as long as this object. Opens it again after a failure.
  Result<Backend*> get(TimePoint by) {
    if (Backend* const store = opened()) return store;
    // Not under the mutex: nobody must wait for another caller's deadline.
    Result<std::unique_ptr<Backend>> fresh = open_(by);
    if (!fresh) return std::move(fresh).error();
    const std::lock_guard lock(mutex_);
    if (!store_) store_ = *std::move(fresh);
    return store_.get();
  }
  // Null if it was not opened yet.
  [[nodiscard]] Backend* opened() const {
    const std::lock_guard lock(mutex_);
    return store_.get();
  }

 private:
  const OpenStore open_;
  mutable std::mutex mutex_;
  std::unique_ptr<Backend> store_;
};

}  // namespace lockset::migrate
