// Protects clients during exit(): libpqxx 6 reads a table for each result, and exit() destroys that
// table.
#pragma once

namespace lockset::postgresql {

// Marks a call into libpqxx. Once exit() is about to destroy what libpqxx needs, no new call may
// begin, and exit() waits for the calls under way. A client that is not destroyed before exit()
// then finds its server unavailable; without the guard it would crash. libpqxx 7 has no such table:
// there every call may begin.
//
// Thread-safe. A forked child does not wait for calls of its parent.
class LibraryCall {
 public:
  LibraryCall() noexcept;
  ~LibraryCall();
  LibraryCall(const LibraryCall&) = delete;
  LibraryCall& operator=(const LibraryCall&) = delete;

  [[nodiscard]] bool may_begin() const noexcept { return may_begin_; }
  // Call it after each result: the table exists then, so exit() runs our handler before it destroys
  // the table.
  static void got_result() noexcept;

 private:
  bool may_begin_ = true;
};

}  // namespace lockset::postgresql
