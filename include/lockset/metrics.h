// Counts what happens in a program's clients, for Prometheus. docs/operations.md says what to alert
// on; `lockset metrics` gives the numbers of the whole space with the same labels.
//
//   auto metrics = std::make_shared<lockset::Metrics>(url);
//   auto locks = lockset::open(url, {.observer = metrics}).value();
//   ... in the handler of GET /metrics: reply(metrics->prometheus_text());
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "lockset/export.h"
#include "lockset/observer.h"

namespace lockset LOCKSET_EXPORT {

// An observer that counts events and adds up how long calls took. Several Locks of one space may
// share it.
//
// Thread-safety: all calls may come from any threads at once; on_event takes no lock.
class Metrics final : public Observer {
 public:
  // The labels are store="SCHEME" and space="URL", with *** in place of a password. `next`, unless
  // empty, gets each event as well.
  explicit Metrics(std::string_view url, std::shared_ptr<Observer> next = {});

  void on_event(const Event& event) noexcept override;

  // How many events of this kind there were. Of `collided` it is the sum of their counts.
  [[nodiscard]] std::uint64_t count(Event::Kind kind) const noexcept;

  // The counters in Prometheus' text format: lockset_events_total, which has the label `event`, and
  // the histograms lockset_acquire_seconds (with the wait), lockset_renew_seconds and
  // lockset_release_seconds. Never a name, a label or a secret.
  [[nodiscard]] std::string prometheus_text() const;

 private:
  friend std::string prometheus_text(std::span<const Metrics* const> all);

  static constexpr std::size_t kinds = static_cast<std::size_t>(Event::Kind::clock_stepped) + 1;
  static constexpr std::size_t buckets = 10;
  struct Times {
    std::array<std::atomic<std::uint64_t>, buckets + 1> counts{};  // the last one: longer
    std::atomic<std::uint64_t> sum_us{};
    void add(Duration took) noexcept;
  };

  const std::string labels_;
  const std::shared_ptr<Observer> next_;
  std::array<std::atomic<std::uint64_t>, kinds> counts_{};
  Times acquires_;
  Times renewals_;
  Times releases_;
};

// The same of several spaces in one text: the format wants all samples of a metric together.
[[nodiscard]] std::string prometheus_text(std::span<const Metrics* const> all);

}  // namespace LOCKSET_EXPORT
