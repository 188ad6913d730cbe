// Implicit locks: content that code can reach only with the right hold. Semantics 25.
//
//   lockset::Guarded<Ledger> ledger("ledger");
//   auto hold = locks.acquire({ledger.for_write()}).value();
//   auto edit = ledger.write(hold).value();
//   edit->add(17);                     // checks the hold, each time
//
// Code that forgets to lock does not compile: without a hold there is no way to the content.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "lockset/error.h"
#include "lockset/export.h"
#include "lockset/hold.h"
#include "lockset/lock_set.h"

namespace lockset LOCKSET_EXPORT {

// Ok if `hold` is valid now and has `name`, as write if `mode` is write. Otherwise Errc::not_held
// if it is lost or released, Errc::invalid if it is a hold of something else.
Status covers(const Hold& hold, std::string_view name, Mode mode);

// Reaches the content of a Guarded<T>: a T for writing, a const T for reading. Each use of * and ->
// first checks that the hold is valid, and throws LockError (not_held) if it is not: before the
// content is touched.
//
// The hold and the Guarded must outlive it. Don't keep what * and -> give you: the check is made
// when they are called. Destroy it before you release the hold. Thread-safety: one thread.
template <class T>
class Access {
 public:
  Access(const Access&) = default;
  Access& operator=(const Access&) = default;
  ~Access() { handover_->fetch_add(1); }

  T& operator*() const { return checked(); }
  T* operator->() const { return std::addressof(checked()); }

 private:
  template <class U>
  friend class Guarded;
  Access(T& content, const Hold& hold, const std::string& name, std::atomic<unsigned>& handover)
      : content_(&content), hold_(&hold), name_(&name), handover_(&handover) {
    handover_->fetch_add(1);
  }
  [[nodiscard]] T& checked() const {
    covers(*hold_, *name_, std::is_const_v<T> ? Mode::read : Mode::write).value();
    return *content_;
  }

  T* content_;
  const Hold* hold_;
  const std::string* name_;
  std::atomic<unsigned>* handover_;
};

// A T that belongs to a lock name. The name stands for the content in every process: a Guarded in
// each, say around a file or a connection, with the same name.
//
// REQUIRES: the holds come from one space, which the program uses for this content; a hold does not
// tell its space. For writers to exclude each other, the write permit of the name is 1.
//
// Thread-safety: all calls from any threads at once. Whether readers may use a const T at once is
// up to T. What one thread wrote under its hold, the next holder in this process sees.
template <class T>
class Guarded {
 public:
  // Makes T from `parts`. `name` is checked when a set is made of it.
  template <class... Parts>
  explicit Guarded(std::string name, Parts&&... parts)
      : name_(std::move(name)), content_(std::forward<Parts>(parts)...) {}
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded() = default;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  // What to acquire.
  [[nodiscard]] LockRequest for_read() const { return lockset::read(name_); }
  [[nodiscard]] LockRequest for_write() const { return lockset::write(name_); }

  // Access to the content under `hold`, which may have other names as well. Write covers read.
  // Errc::not_held if the hold is lost or released; Errc::invalid if it lacks the name or the mode.
  [[nodiscard]] Result<Access<const T>> read(const Hold& hold) const {
    if (Status status = covers(hold, name_, Mode::read); !status) return std::move(status).error();
    return Access<const T>(content_, hold, name_, handover_);
  }
  [[nodiscard]] Result<Access<T>> write(const Hold& hold) {
    if (Status status = covers(hold, name_, Mode::write); !status) return std::move(status).error();
    return Access<T>(content_, hold, name_, handover_);
  }
  // A hold that ends with the statement guards nothing.
  Result<Access<const T>> read(Hold&&) const = delete;
  Result<Access<T>> write(Hold&&) = delete;

 private:
  const std::string name_;
  T content_;
  // Counts beginnings and ends of access. Orders the memory of one holder before that of the next:
  // the lock itself may have been taken in another process's memory only.
  mutable std::atomic<unsigned> handover_{0};
};

}  // namespace LOCKSET_EXPORT
