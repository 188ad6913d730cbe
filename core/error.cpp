#include "lockset/error.h"

namespace lockset {

std::string_view to_string(Errc code) noexcept {
  switch (code) {
    case Errc::timeout:
      return "timeout";
    case Errc::cancelled:
      return "cancelled";
    case Errc::not_held:
      return "not_held";
    case Errc::changed:
      return "changed";
    case Errc::app_in_use:
      return "app_in_use";
    case Errc::superseded:
      return "superseded";
    case Errc::invalid:
      return "invalid";
    case Errc::misconfigured:
      return "misconfigured";
    case Errc::unsupported:
      return "unsupported";
    case Errc::unavailable:
      return "unavailable";
    case Errc::indeterminate:
      return "indeterminate";
    case Errc::rolled_back:
      return "rolled_back";
    case Errc::internal:
      return "internal";
  }
  return "internal";
}

}  // namespace lockset
