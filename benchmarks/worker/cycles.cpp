#include "benchmarks/worker/cycles.h"

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <numeric>
#include <random>
#include <stdexcept>
#include <thread>

namespace lockset::bench {
namespace {

std::int64_t now_ns() noexcept { return BootClock::now().time_since_epoch().count(); }

void pause(std::int64_t ns) {
  if (ns > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(ns));
}

// The sets that one client takes, one after the other.
class Sets {
 public:
  Sets(std::size_t client, const CycleOrder& order) : order_(order), dice_(client + 1) {
    const std::string prefix =
        order.shared == 0 ? "bench-" + std::to_string(client) + "-" : "bench-shared-";
    const std::size_t count = order.shared == 0 ? order.names : order.shared;
    for (std::size_t i = 0; i < count; ++i) all_.push_back(prefix + std::to_string(i));
    std::sort(all_.begin(), all_.end());
    chosen_ = all_;
  }

  std::span<const std::string> next() {
    if (order_.shared == 0 || order_.names == all_.size()) return all_;
    chosen_.clear();
    std::sample(all_.begin(), all_.end(), std::back_inserter(chosen_), order_.names, dice_);
    return chosen_;
  }
  Mode mode() {
    return std::uniform_real_distribution<>(0, 1)(dice_) < order_.reads ? Mode::read : Mode::write;
  }

 private:
  const CycleOrder& order_;
  std::mt19937_64 dice_;
  std::vector<std::string> all_;
  std::vector<std::string> chosen_;
};

void loop(Client& client, std::size_t number, const CycleOrder& order, CycleResult& result) {
  Sets sets(number, order);
  const std::int64_t end = order.begin_ns + order.length_ns;
  pause(order.begin_ns - now_ns());
  while (now_ns() < end) {
    const auto names = sets.next();
    const Mode mode = order.reads > 0 ? sets.mode() : Mode::write;
    const std::int64_t asked = now_ns();
    client.lock(names, mode);
    const std::int64_t granted = now_ns();
    pause(order.hold_us * 1000);
    const std::int64_t giving = order.hold_us > 0 ? now_ns() : granted;
    client.unlock();
    const std::int64_t released = now_ns();
    result.lock.add(Duration(granted - asked));
    result.unlock.add(Duration(released - giving));
    result.cycle.add(Duration(released - asked));
    if (released <= end) ++result.cycles;
    if (order.trace) result.moments.push_back({asked, granted, released});
  }
  result.clients = {result.cycles};
}

}  // namespace

void CycleResult::add(const CycleResult& other) {
  cycles += other.cycles;
  lock.add(other.lock);
  unlock.add(other.unlock);
  cycle.add(other.cycle);
  cpu_seconds += other.cpu_seconds;
  clients.insert(clients.end(), other.clients.begin(), other.clients.end());
  moments.insert(moments.end(), other.moments.begin(), other.moments.end());
  for (const auto& [kind, times] : other.events) events[kind] += times;
}

CycleResult run_cycles(std::span<const std::unique_ptr<Client>> clients, std::size_t first,
                       const CycleOrder& order) {
  std::vector<CycleResult> results(clients.size());
  std::mutex mutex;
  std::exception_ptr trouble;
  const double cpu_before = cpu_seconds();
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < clients.size(); ++i) {
      threads.emplace_back([&, i] {
        try {
          loop(*clients[i], first + i, order, results[i]);
        } catch (const std::exception&) {
          const std::lock_guard lock(mutex);
          if (!trouble) trouble = std::current_exception();
        }
      });
    }
  }
  if (trouble) std::rethrow_exception(trouble);
  CycleResult all;
  for (const CycleResult& each : results) all.add(each);
  all.cpu_seconds = cpu_seconds() - cpu_before;
  return all;
}

double cpu_seconds() noexcept {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void to_json(nlohmann::json& json, const CycleOrder& order) {
  json = {{"begin_ns", order.begin_ns}, {"length_ns", order.length_ns}, {"names", order.names},
          {"shared", order.shared},     {"reads", order.reads},         {"hold_us", order.hold_us},
          {"trace", order.trace}};
}

void from_json(const nlohmann::json& json, CycleOrder& order) {
  json.at("begin_ns").get_to(order.begin_ns);
  json.at("length_ns").get_to(order.length_ns);
  json.at("names").get_to(order.names);
  json.at("shared").get_to(order.shared);
  json.at("reads").get_to(order.reads);
  json.at("hold_us").get_to(order.hold_us);
  json.at("trace").get_to(order.trace);
}

void to_json(nlohmann::json& json, const CycleResult& result) {
  nlohmann::json moments = nlohmann::json::array();
  for (const Moments& each : result.moments) {
    moments.push_back({each.asked, each.granted, each.released});
  }
  json = {{"cycles", result.cycles},           {"lock", result.lock.to_json()},
          {"unlock", result.unlock.to_json()}, {"cycle", result.cycle.to_json()},
          {"cpu_seconds", result.cpu_seconds}, {"clients", result.clients},
          {"moments", std::move(moments)},     {"events", result.events}};
}

void from_json(const nlohmann::json& json, CycleResult& result) {
  json.at("cycles").get_to(result.cycles);
  result.lock = Histogram::from_json(json.at("lock"));
  result.unlock = Histogram::from_json(json.at("unlock"));
  result.cycle = Histogram::from_json(json.at("cycle"));
  json.at("cpu_seconds").get_to(result.cpu_seconds);
  json.at("clients").get_to(result.clients);
  for (const auto& each : json.at("moments")) {
    result.moments.push_back({each.at(0), each.at(1), each.at(2)});
  }
  json.at("events").get_to(result.events);
}

}  // namespace lockset::bench
