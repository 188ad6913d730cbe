#include "tools/failure.h"

#include "core/shortage.h"

namespace lockset::tools {

int exit_code_of(Errc code) noexcept {
  switch (code) {
    case Errc::timeout:
    case Errc::cancelled:
      return exit_timeout;
    case Errc::not_held:
      return exit_not_held;
    case Errc::changed:
      return exit_changed;
    case Errc::invalid:
    // The store is fit, but can't do what was asked.
    case Errc::unsupported:
      return exit_usage;
    // Both mean that somebody else uses this application id.
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

void fail_system(std::string_view what, int error) {
  throw Failure(exit_system, "can't " + std::string(what) + ": " + text_of_errno(error));
}

void fail(const Error& error) { throw Failure(exit_code_of(error.code), error.message); }

}  // namespace lockset::tools
