// libpqxx 6 looks at a table for each result, and exit() destroys that table.
#pragma once

namespace lockset::postgresql {

// Marks a call into libpqxx. Once exit() is about to destroy what libpqxx needs, no new call may
// begin, and exit() waits for those under way. A client that is not destroyed before exit() then
// finds its server unavailable, where it would have crashed. libpqxx 7 has no such table: with it
// every call may begin.
//
// Thread-safe. A forked child waits for none of its parent's calls.
class LibraryCall {
 public:
  LibraryCall() noexcept;
  ~LibraryCall();
  LibraryCall(const LibraryCall&) = delete;
  LibraryCall& operator=(const LibraryCall&) = delete;

  [[nodiscard]] bool may_begin() const noexcept { return may_begin_; }
  // After each result: the table is there now, so the process's exit handlers come to this one
  // before they destroy it.
  static void got_result() noexcept;

 private:
  bool may_begin_ = true;
};

}  // namespace lockset::postgresql
