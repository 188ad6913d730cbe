// Lockset with settings that only some workloads need.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "benchmarks/rivals/rival.h"
#include "lockset/clock.h"
#include "lockset/observer.h"

namespace lockset::bench {

// Counts events by kind. Thread-safe.
class EventCounts : public Observer {
 public:
  void on_event(const Event& event) noexcept override;
  // By the kind's name; `collided` by the number that it reports. Kinds that did not occur are
  // missing.
  [[nodiscard]] std::map<std::string, std::uint64_t> counts() const;

 private:
  std::array<std::atomic<std::uint64_t>, 32> counts_{};
};

struct LocksetSettings {
  std::shared_ptr<EventCounts> events{};  // null: not counted, which costs nothing
  std::optional<Duration> lease{};
};

// As Rival::enter.
std::unique_ptr<Entry> enter_lockset(const Url& url, const LocksetSettings& settings);

}  // namespace lockset::bench
