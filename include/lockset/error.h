// Errors are values. A call that can fail returns Result<T>; if you prefer
// exceptions, call .value(), which throws LockError, the only type that this
// library throws (apart from std::bad_alloc).
//
// Contention is not an error: see Locks::try_acquire and Locks::try_locks.
//
// Thread-safety: plain values; distinct objects may be used from distinct threads.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "lockset/export.h"

namespace lockset LOCKSET_EXPORT {

enum class Errc {
  timeout,        // the wait ended before the set was free; nothing is held
  cancelled,      // the caller's stop token ended the wait; nothing is held
  not_held,       // no such hold of this application: wrong stamp, released, expired or broken
  changed,        // a write was granted on an observed name, or may have been; nothing is held
  app_in_use,     // reclaim=on, and another live instance of the application runs
  superseded,     // a newer instance of this application reclaimed its holds, or this one, opened
                  // with reclaim, lost its hold on the application id: open the space again
  invalid,        // the caller's mistake: a bad name, set, lease or option
  misconfigured,  // the store or its address is set up wrongly; waiting will not mend it
  unsupported,    // this backend can't do that, and says so instead of doing less
  unavailable,    // the store could not be asked; certainly nothing was applied
  indeterminate,  // the reply was lost; the change may or may not have been applied
  rolled_back,    // the store was restored or wiped: it gave an old stamp, or lost our epoch
  internal,       // a fault of Lockset or an answer that makes no sense
};

// The lower-case name of the code, for example "not_held".
std::string_view to_string(Errc code) noexcept;

struct Error {
  Errc code = Errc::internal;
  // One line for people: what was asked, what went wrong, what to do. Contains no secrets.
  std::string message;

  // Nothing was applied, and the same call may succeed later although nobody changes anything.
  [[nodiscard]] bool retryable() const noexcept { return code == Errc::unavailable; }
  // The store may hold the effect of the call.
  [[nodiscard]] bool may_have_applied() const noexcept { return code == Errc::indeterminate; }
};

// Only Result::value() throws it.
class LockError : public std::exception {
 public:
  explicit LockError(Error error) : error_(std::move(error)) {}
  [[nodiscard]] const char* what() const noexcept override { return error_.message.c_str(); }
  [[nodiscard]] const Error& error() const noexcept { return error_; }

 private:
  Error error_;
};

// Either a T or an Error; shaped like std::expected<T, Error>, which C++20 lacks.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  // REQUIRES nothing: throws LockError if there is no value.
  T& value() & { return check(), *std::get_if<0>(&state_); }
  const T& value() const& { return check(), *std::get_if<0>(&state_); }
  T value() && { return check(), std::move(*std::get_if<0>(&state_)); }

  // REQUIRES: ok().
  T& operator*() & noexcept { return *std::get_if<0>(&state_); }
  const T& operator*() const& noexcept { return *std::get_if<0>(&state_); }
  T&& operator*() && noexcept { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() noexcept { return std::get_if<0>(&state_); }
  const T* operator->() const noexcept { return std::get_if<0>(&state_); }

  // REQUIRES: !ok().
  [[nodiscard]] const Error& error() const& noexcept { return *std::get_if<1>(&state_); }
  [[nodiscard]] Error&& error() && noexcept { return std::move(*std::get_if<1>(&state_)); }

 private:
  void check() const {
    if (!ok()) throw LockError(error());
  }
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }
  void value() const {
    if (!ok()) throw LockError(error());
  }
  [[nodiscard]] const Error& error() const& noexcept { return *std::get_if<1>(&state_); }
  [[nodiscard]] Error&& error() && noexcept { return std::move(*std::get_if<1>(&state_)); }

 private:
  std::variant<std::monostate, Error> state_;
};

using Status = Result<void>;

}  // namespace LOCKSET_EXPORT
