#include "benchmarks/measure/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace lockset::bench {
namespace {

// Each power of two is divided into 128 parts: less than 1 % of the value.
constexpr unsigned split_bits = 7;

std::uint32_t bucket_of(std::uint64_t ns) noexcept {
  if (ns < (1U << split_bits)) return static_cast<std::uint32_t>(ns);
  const unsigned shift = static_cast<unsigned>(std::bit_width(ns)) - split_bits - 1;
  return (shift << split_bits) + static_cast<std::uint32_t>(ns >> shift);
}

std::uint64_t highest_in(std::uint32_t bucket) noexcept {
  if (bucket < (2U << split_bits)) return bucket;
  const unsigned shift = (bucket >> split_bits) - 1;
  const std::uint64_t top = bucket - (shift << split_bits);
  return ((top + 1) << shift) - 1;
}

}  // namespace

void Histogram::add(Duration value) {
  const auto ns = static_cast<std::uint64_t>(std::max<Duration::rep>(value.count(), 0));
  const std::uint32_t bucket = bucket_of(ns);
  if (bucket >= buckets_.size()) buckets_.resize(bucket + 1);
  ++buckets_[bucket];
  ++count_;
  sum_ns_ += ns;
  max_ = std::max(max_, value);
}

void Histogram::add(const Histogram& other) {
  buckets_.resize(std::max(buckets_.size(), other.buckets_.size()));
  for (std::size_t i = 0; i < other.buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  sum_ns_ += other.sum_ns_;
  max_ = std::max(max_, other.max_);
}

double Histogram::mean_us() const noexcept {
  return count_ == 0 ? 0 : static_cast<double>(sum_ns_) / static_cast<double>(count_) / 1000;
}

double Histogram::percentile_us(double part) const noexcept {
  const auto wanted = static_cast<std::uint64_t>(std::ceil(part * static_cast<double>(count_)));
  std::uint64_t seen = 0;
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    seen += buckets_[bucket];
    if (seen >= wanted) {
      const auto top = static_cast<Duration::rep>(highest_in(static_cast<std::uint32_t>(bucket)));
      return static_cast<double>(std::min(top, max_.count())) / 1000;
    }
  }
  return 0;
}

nlohmann::json Histogram::to_json() const {
  nlohmann::json buckets = nlohmann::json::array();
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    if (buckets_[bucket] != 0) buckets.push_back({bucket, buckets_[bucket]});
  }
  return {{"buckets", buckets}, {"sum_ns", sum_ns_}, {"max_ns", max_.count()}};
}

Histogram Histogram::from_json(const nlohmann::json& json) {
  Histogram result;
  for (const auto& each : json.at("buckets")) {
    const auto bucket = each.at(0).get<std::size_t>();
    const auto times = each.at(1).get<std::uint64_t>();
    if (bucket >= result.buckets_.size()) result.buckets_.resize(bucket + 1);
    result.buckets_[bucket] = times;
    result.count_ += times;
  }
  json.at("sum_ns").get_to(result.sum_ns_);
  result.max_ = Duration(json.at("max_ns").get<Duration::rep>());
  return result;
}

nlohmann::ordered_json summary_us(const Histogram& histogram) {
  return {{"p50", histogram.percentile_us(0.5)},
          {"p99", histogram.percentile_us(0.99)},
          {"p999", histogram.percentile_us(0.999)},
          {"max", static_cast<double>(histogram.max().count()) / 1000},
          {"mean", histogram.mean_us()},
          {"count", histogram.count()}};
}

}  // namespace lockset::bench
