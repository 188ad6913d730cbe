// How a command fails: with one line for people and an exit code for scripts.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "lockset/error.h"

namespace lockset::tools {

// `lockset help` explains each of these (help.cpp): change the two together.
enum Exit : int {
  exit_ok = 0,
  exit_not_held = 1,
  exit_not_kept = 1,  // check-history: a promise was not kept
  exit_older = 1,     // status --older-than: something is
  exit_usage = 64,
  exit_bad_data = 65,
  exit_store = 69,
  exit_internal = 70,
  exit_system = 71,
  exit_output = 74,
  exit_conflict = 75,
  exit_config = 78,
  exit_lost = 79,
  exit_changed = 80,
  exit_timeout = 124,
  exit_cannot_execute = 126,
  exit_not_found = 127,
  exit_signal = 128,  // + the signal's number
};

// Thrown anywhere in a command; only main catches it.
class Failure : public std::exception {
 public:
  Failure(int code, std::string message) : code_(code), message_(std::move(message)) {}
  [[nodiscard]] const char* what() const noexcept override { return message_.c_str(); }
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  int code_;
  std::string message_;  // one line, without "lockset: "
};

int exit_code_of(Errc code) noexcept;

[[noreturn]] void fail(const Error& error);
// The system has no more of a resource that this needs: exit_system, with the limit to check.
[[noreturn]] void fail_system(std::string_view what, int error);

// The value; throws the failure that matches the error.
template <class T>
T or_fail(Result<T> result) {
  if (!result) fail(result.error());
  return std::move(*result);
}
inline void or_fail(const Status& status) {
  if (!status) fail(status.error());
}

}  // namespace lockset::tools
