// A decorator for command handlers and jobs: each call first takes the locks that it declared.
// Semantics 25.
//
//   auto transfer = lockset::under_locks(
//       locks,
//       [](const Transfer& order) {
//         return std::vector{write("account/" + order.from), write("account/" + order.to)};
//       },
//       [](const lockset::Hold& hold, const Transfer& order) { return book(order, hold.stamp()); },
//       {.wait = 5s});
//   lockset::Result<Receipt> receipt = transfer(order);
#pragma once

#include <concepts>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lockset/error.h"
#include "lockset/export.h"
#include "lockset/hold.h"
#include "lockset/lock_set.h"
#include "lockset/locks.h"

namespace lockset LOCKSET_EXPORT {

// Made by under_locks. `locks` must outlive it. Thread-safety: calls may come from any threads at
// once if `Declare` and `Handler` allow it.
template <class Declare, class Handler>
class UnderLocks {
 public:
  UnderLocks(Locks& locks, Declare declare, Handler handler, AcquireOptions options)
      : locks_(&locks),
        declare_(std::move(declare)),
        handler_(std::move(handler)),
        options_(std::move(options)) {}

  // Takes the set that is declared for these arguments, calls the handler with the hold and the
  // arguments, and releases. An exception of the handler passes; the set is released.
  // Errors: those of Locks::acquire, and then the handler was not called. Only Errc::not_held means
  // that it was called, and that its hold was lost meanwhile: what it answered is dropped, because
  // others may have worked at the same time. If the store does not confirm the release, the answer
  // stands: the hold was valid, and ends with its lease.
  template <class... Arguments>
  requires std::invocable<const Declare&, const Arguments&...> &&
      std::invocable<const Handler&, const Hold&, Arguments...>
  auto operator()(Arguments&&... arguments) const
      -> Result<std::invoke_result_t<const Handler&, const Hold&, Arguments...>> {
    using Answer = std::invoke_result_t<const Handler&, const Hold&, Arguments...>;
    Result<Hold> hold =
        locks_->acquire(std::invoke(declare_, std::as_const(arguments)...), options_);
    if (!hold) return std::move(hold).error();
    if constexpr (std::is_void_v<Answer>) {
      std::invoke(handler_, std::as_const(*hold), std::forward<Arguments>(arguments)...);
      return ended(*hold);
    } else {
      Answer answer =
          std::invoke(handler_, std::as_const(*hold), std::forward<Arguments>(arguments)...);
      if (Status status = ended(*hold); !status) return std::move(status).error();
      return answer;
    }
  }

 private:
  static Status ended(Hold& hold) {
    const std::string stamp = std::to_string(hold.stamp().value);
    const bool valid = hold.valid();
    Status released = hold.release();
    if (valid && (released || released.error().code != Errc::not_held)) return {};
    return Error{Errc::not_held,
                 "the handler was called, and lost its locks meanwhile (stamp " + stamp + ")"};
  }

  Locks* locks_;
  Declare declare_;
  Handler handler_;
  AcquireOptions options_;
};

// `declare` makes the set from the arguments of a call.
template <class Declare, class Handler>
requires(!std::convertible_to<Declare, std::vector<LockRequest>>)
    [[nodiscard]] UnderLocks<Declare, Handler> under_locks(Locks& locks, Declare declare,
                                                           Handler handler,
                                                           AcquireOptions options = {}) {
  return {locks, std::move(declare), std::move(handler), std::move(options)};
}

// The same set for all calls.
template <class Handler>
[[nodiscard]] auto under_locks(Locks& locks, std::vector<LockRequest> set, Handler handler,
                               AcquireOptions options = {}) {
  return under_locks(
      locks, [set = std::move(set)](const auto&...) { return set; }, std::move(handler),
      std::move(options));
}

}  // namespace LOCKSET_EXPORT
