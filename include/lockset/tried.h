// The outcome of one try that may meet contention.
#pragma once

#include <utility>

#include "lockset/error.h"
#include "lockset/export.h"

namespace lockset LOCKSET_EXPORT {

// The outcome of one try: an error, busy, or a grant. It does not convert to bool, because `if
// (auto hold = locks.try_acquire(set))` would be true when the set is taken; so that does not
// compile. Ask for the outcome that you mean:
//
//   if (auto hold = locks.try_acquire(set).value()) ...   granted; an error is thrown
//   auto tried = locks.try_acquire(set);
//   if (!tried.ok()) ... tried.error() ...                 an error
//   if (tried->has_value()) ...                            granted (of try_locks: *tried is not 0)
template <class T>
class [[nodiscard]] Tried : public Result<T> {
 public:
  using Result<T>::Result;
  explicit operator bool() const = delete;
  // As Result::value(). If you don't check the value, you don't know whether you hold the lock.
  [[nodiscard]] T& value() & { return Result<T>::value(); }
  [[nodiscard]] const T& value() const& { return Result<T>::value(); }
  [[nodiscard]] T value() && { return std::move(*this).Result<T>::value(); }
};

}  // namespace LOCKSET_EXPORT
