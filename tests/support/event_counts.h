// Counts what a program's Observer was told.
#pragma once

#include <atomic>
#include <cstdint>

#include "lockset/observer.h"

namespace lockset::test {

// Thread-safe. "busy": an acquire found the set taken, and waits if it may.
class EventCounts final : public Observer {
 public:
  void on_event(const Event& event) noexcept override {
    if (event.kind == Event::Kind::busy) ++busy;
    if (event.kind == Event::Kind::granted) ++granted;
    if (event.kind == Event::Kind::renewed) ++renewed;
    if (event.kind == Event::Kind::released) ++released;
    if (event.kind == Event::Kind::lost) ++lost;
    if (event.kind == Event::Kind::resolved) ++resolved;
    if (event.kind == Event::Kind::retried) ++retried;
    if (event.kind == Event::Kind::collided) collisions += event.count;
  }
  std::atomic<int> busy = 0;
  std::atomic<int> granted = 0;
  std::atomic<int> renewed = 0;
  std::atomic<int> released = 0;
  std::atomic<int> lost = 0;
  std::atomic<int> resolved = 0;
  std::atomic<int> retried = 0;
  std::atomic<std::uint32_t> collisions = 0;
};

}  // namespace lockset::test
