// Coarse-grained locks: what belongs together has one lock, that of its root. Semantics 24.
//
//   lockset::Aggregates aggregates;
//   aggregates.declare(lockset::first_parts(2));  // customer/42/address/3 belongs to customer/42
//   auto set = aggregates.lock_set({write("customer/42/address/3"), write("ledger")}).value();
//   auto hold = locks.acquire(set).value();       // write customer/42, write ledger
//
// A member is never locked by its own name. So one lock is enough however many members there are,
// members that nobody has created yet are locked as well, and nobody can change a member while
// another one works with the whole.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lockset/error.h"
#include "lockset/export.h"
#include "lockset/lock_set.h"

namespace lockset LOCKSET_EXPORT {

// How the names of one aggregate map: the name of the root if `name` is a member, otherwise
// nothing, also for the root itself. Called from any threads at once; must not throw.
using RootOf = std::function<std::optional<std::string>(std::string_view name)>;

// For names that are paths: a name of more than `parts` parts belongs to the path of the first
// ones. REQUIRES: parts > 0.
RootOf first_parts(std::size_t parts, char separator = '/');

// For names that begin alike: all that begin with `prefix` belong to `root`.
RootOf with_prefix(std::string prefix, std::string root);

// What the aggregates of a program are. All programs that lock their members have to declare the
// same.
//
// Thread-safety: declare all first; const calls may come from any threads at once. A plain value.
class Aggregates {
 public:
  // The first declaration that knows a name decides.
  void declare(RootOf root_of);

  // The name under which `name` is locked: that of its root, or of the root's root if the root is
  // itself a member, and so on; `name` if it is no member. Errc::invalid if that goes in a circle.
  [[nodiscard]] Result<std::string> root_of(std::string_view name) const;

  // The lock set of roots and plain names. A root is taken as write if it or one of its members is
  // asked for as write, otherwise as read. Errors: those of LockSet::make; its limit on the size is
  // a limit on roots. A plain name is refused in both modes, as there.
  [[nodiscard]] Result<LockSet> lock_set(std::vector<LockRequest> wanted) const;

 private:
  std::vector<RootOf> declared_;
};

}  // namespace LOCKSET_EXPORT
