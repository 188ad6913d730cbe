#include "benchmarks/report/results.h"

#include <cmath>
#include <stdexcept>

namespace lockset::bench {
namespace {

const Json* find(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

std::optional<double> number(const Json& object, const char* key) {
  const Json* value = find(object, key);
  if (value == nullptr || !value->is_number()) return {};
  const auto result = value->get<double>();
  if (!std::isfinite(result)) return {};
  return result;
}

std::uint64_t count(const Json& object, const char* key) {
  const double value = number(object, key).value_or(0);
  return value >= 0 && value < 1e18 ? static_cast<std::uint64_t>(value) : 0;
}

std::string text(const Json& object, const char* key) {
  const Json* value = find(object, key);
  return value != nullptr && value->is_string() ? value->get<std::string>() : "";
}

bool flag(const Json& object, const char* key) {
  const Json* value = find(object, key);
  return value != nullptr && value->is_boolean() && value->get<bool>();
}

std::optional<Spread> spread(const Json& object, const char* key) {
  const Json* value = find(object, key);
  if (value == nullptr) return {};
  const auto median = number(*value, "median");
  if (!median) return {};
  return Spread{*median, number(*value, "low"), number(*value, "high")};
}

std::optional<Latency> latency(const Json& object, const char* key) {
  const Json* value = find(object, key);
  if (value == nullptr || !number(*value, "p50")) return {};
  const auto part = [&](const char* name) { return number(*value, name).value_or(0); };
  return Latency{part("p50"), part("p99"), part("p999"), part("max")};
}

std::vector<const Json*> objects(const Json& object, const char* key) {
  std::vector<const Json*> result;
  if (const Json* list = find(object, key); list != nullptr && list->is_array()) {
    for (const Json& item : *list) {
      if (item.is_object()) result.push_back(&item);
    }
  }
  return result;
}

std::vector<std::pair<std::string, std::string>> pairs(const Json& object, const char* key) {
  std::vector<std::pair<std::string, std::string>> result;
  if (const Json* values = find(object, key); values != nullptr && values->is_object()) {
    for (const auto& [name, value] : values->items()) {
      result.emplace_back(name, value.is_string()
                                    ? value.get<std::string>()
                                    : value.dump(-1, ' ', false, Json::error_handler_t::replace));
    }
  }
  return result;
}

Measurement read_measurement(const Json& json) {
  Measurement m;
  m.workload = text(json, "workload");
  m.space = text(json, "space");
  m.rival = text(json, "rival");
  m.role = text(json, "role");
  m.clients = count(json, "clients");
  m.processes = count(json, "processes");
  m.names = count(json, "names");
  m.holds = count(json, "holds");
  for (const Json* turn : objects(json, "repetitions")) {
    m.rates.push_back(number(*turn, "per_second").value_or(0));
  }
  m.repetitions = m.rates.size();
  m.per_second = spread(json, "per_second");
  m.ratio = spread(json, "ratio");
  m.cpu_us = spread(json, "cpu_us");
  m.lock_us = latency(json, "lock_us");
  m.cycle_us = latency(json, "cycle_us");
  if (const Json* events = find(json, "events")) {
    const auto granted = number(*events, "granted");
    const auto collided = number(*events, "collided");
    if (granted && collided && *granted > 0) m.collided = *collided / *granted;
  }
  m.cost = spread(json, "cost");
  m.handover_us = latency(json, "handover_us");
  m.handover_cost = spread(json, "handover_cost");
  if (const Json* fairness = find(json, "fairness"); fairness != nullptr && fairness->is_object()) {
    m.fairness =
        Fairness{number(*fairness, "least").value_or(0), number(*fairness, "most").value_or(0),
                 number(*fairness, "longest_wait_us").value_or(0)};
  }
  m.attempts_per_grant = number(json, "attempts_per_grant");
  m.among = text(json, "among");
  m.grants = number(json, "grants");
  m.longest_wait_us = number(json, "longest_wait_us");
  m.others_per_second = spread(json, "others_per_second");
  m.renewals = number(json, "renewals");
  m.cpu_share = spread(json, "cpu_share");
  m.slowdown = spread(json, "slowdown");
  m.slowdown_p99 = spread(json, "slowdown_p99");
  m.recovery_ms = spread(json, "recovery_ms");
  m.lease_ms = number(json, "lease_ms");
  return m;
}

Space read_space(const Json& json) {
  Space space{text(json, "id"), "", text(json, "url"), pairs(json, "settings")};
  const std::string& name = space.url.empty() ? space.id : space.url;
  space.scheme = name.substr(0, name.find_first_of(": "));
  return space;
}

}  // namespace

Results read_results(const Json& json) {
  if (find(json, "lockset") == nullptr || find(json, "measurements") == nullptr) {
    throw std::runtime_error("these are not results of lockset-bench");
  }
  Results results;
  results.version = text(json, "lockset");
  results.began = text(json, "began");
  results.seconds = number(json, "seconds").value_or(0);
  results.interrupted = flag(json, "interrupted");
  results.quick = flag(json, "quick");
  if (const Json* method = find(json, "method")) {
    results.repetitions = count(*method, "repetitions");
    results.slice_seconds = number(*method, "slice_seconds").value_or(0);
  }
  results.machine = pairs(json, "machine");
  for (const Json* space : objects(json, "spaces")) results.spaces.push_back(read_space(*space));
  for (const Json* failure : objects(json, "failures")) {
    results.failures.push_back(
        {text(*failure, "space"), text(*failure, "workload"), text(*failure, "why")});
  }
  for (const Json* m : objects(json, "measurements")) {
    results.measurements.push_back(read_measurement(*m));
  }
  return results;
}

}  // namespace lockset::bench
