#include "lockset/metrics.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/prometheus_text.h"

namespace lockset {
namespace {

// From a lock on the same machine to a wait of minutes.
constexpr std::array<double, 10> bounds{0.001, 0.0025, 0.01, 0.025, 0.1, 0.25, 1, 10, 60, 600};

}  // namespace

Metrics::Metrics(std::string_view url, std::shared_ptr<Observer> next)
    : labels_(prometheus_labels_of(url)), next_(std::move(next)) {
  static_assert(bounds.size() == buckets);
}

void Metrics::Times::add(Duration took) noexcept {
  // A conversion releases the former hold without a call of its own.
  if (took <= Duration::zero()) return;
  const auto bound = std::lower_bound(bounds.begin(), bounds.end(), in_seconds(took));
  counts[static_cast<std::size_t>(bound - bounds.begin())].fetch_add(1, std::memory_order_relaxed);
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(took).count();
  sum_us.fetch_add(static_cast<std::uint64_t>(us), std::memory_order_relaxed);
}

void Metrics::on_event(const Event& event) noexcept {
  const auto kind = static_cast<std::size_t>(event.kind);
  const std::uint32_t times = event.kind == Event::Kind::collided ? event.count : 1;
  if (kind < kinds) counts_[kind].fetch_add(times, std::memory_order_relaxed);
  if (event.kind == Event::Kind::granted) acquires_.add(event.took);
  if (event.kind == Event::Kind::renewed) renewals_.add(event.took);
  if (event.kind == Event::Kind::released) releases_.add(event.took);
  if (next_) next_->on_event(event);
}

std::uint64_t Metrics::count(Event::Kind kind) const noexcept {
  const auto index = static_cast<std::size_t>(kind);
  return index < kinds ? counts_[index].load(std::memory_order_relaxed) : 0;
}

std::string Metrics::prometheus_text() const {
  const Metrics* const all[] = {this};
  return lockset::prometheus_text(all);
}

std::string prometheus_text(std::span<const Metrics* const> all) {
  PrometheusText text;
  text.metric("lockset_events_total", "counter", "What happened in the clients of this program.");
  for (const Metrics* const each : all) {
    for (std::size_t kind = 0; kind < Metrics::kinds; ++kind) {
      const auto event = static_cast<Event::Kind>(kind);
      text.sample(each->labels_ + "," + prometheus_label("event", to_string(event)),
                  static_cast<double>(each->count(event)));
    }
  }
  const auto histogram = [&](std::string_view name, std::string_view help,
                             Metrics::Times Metrics::*times) {
    text.metric(name, "histogram", help);
    for (const Metrics* const each : all) {
      const Metrics::Times& of = each->*times;
      std::uint64_t count = 0;
      for (std::size_t i = 0; i <= bounds.size(); ++i) {
        count += of.counts[i].load(std::memory_order_relaxed);
        const std::string bound = i < bounds.size() ? prometheus_number(bounds[i]) : "+Inf";
        text.sample(each->labels_ + "," + prometheus_label("le", bound), static_cast<double>(count),
                    "_bucket");
      }
      constexpr double us_per_s = 1e6;
      text.sample(each->labels_,
                  static_cast<double>(of.sum_us.load(std::memory_order_relaxed)) / us_per_s,
                  "_sum");
      text.sample(each->labels_, static_cast<double>(count), "_count");
    }
  };
  histogram("lockset_acquire_seconds", "From the call to the grant, with the wait.",
            &Metrics::acquires_);
  histogram("lockset_renew_seconds", "The round trip of a renewal.", &Metrics::renewals_);
  histogram("lockset_release_seconds", "The round trip of a release.", &Metrics::releases_);
  return text.text();
}

}  // namespace lockset
