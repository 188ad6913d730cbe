#include "lockset/observer.h"

namespace lockset {

std::string_view to_string(Event::Kind kind) noexcept {
  switch (kind) {
    case Event::Kind::granted:
      return "granted";
    case Event::Kind::busy:
      return "busy";
    case Event::Kind::timed_out:
      return "timed_out";
    case Event::Kind::changed:
      return "changed";
    case Event::Kind::stale:
      return "stale";
    case Event::Kind::retried:
      return "retried";
    case Event::Kind::collided:
      return "collided";
    case Event::Kind::resolved:
      return "resolved";
    case Event::Kind::renewed:
      return "renewed";
    case Event::Kind::renewal_failed:
      return "renewal_failed";
    case Event::Kind::lost:
      return "lost";
    case Event::Kind::released:
      return "released";
    case Event::Kind::release_failed:
      return "release_failed";
    case Event::Kind::config_changed:
      return "config_changed";
    case Event::Kind::clock_stepped:
      return "clock_stepped";
  }
  return "unknown";
}

}  // namespace lockset
