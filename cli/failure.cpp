#include "cli/failure.h"

#include <unistd.h>

namespace lockset::cli {

int exit_code_of(Errc code) noexcept {
  switch (code) {
    case Errc::timeout:
    case Errc::cancelled:
      return exit_timeout;
    case Errc::not_held:
      return exit_not_held;
    case Errc::invalid:
    // The store is fit, and can't do what was asked of it.
    case Errc::unsupported:
      return exit_usage;
    // Both mean that this application id belongs to somebody else.
    case Errc::app_in_use:
    case Errc::superseded:
    case Errc::misconfigured:
      return exit_config;
    case Errc::unavailable:
    case Errc::indeterminate:
    case Errc::rolled_back:
      return exit_store;
    case Errc::internal:
      return exit_internal;
  }
  return exit_internal;
}

void fail(const Error& error) { throw Failure(exit_code_of(error.code), error.message); }

void say(std::string_view line) {
  std::string text = "lockset: ";
  text += line;
  text += '\n';
  // Nobody is left to be told when standard error itself fails.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace lockset::cli
