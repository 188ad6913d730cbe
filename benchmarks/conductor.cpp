#include "benchmarks/conductor.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <stdexcept>
#include <utility>

#include "benchmarks/machine.h"
#include "tools/failure.h"
#include "tools/interrupt.h"
#include "tools/table.h"

namespace lockset::bench {
namespace {

using nlohmann::ordered_json;

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

void say(const std::string& line) {
  const std::string text = "lockset-bench: " + tools::harmless(line) + "\n";
  std::fwrite(text.data(), 1, text.size(), stderr);
}

// On a terminal one line that changes; elsewhere only what changes seldom.
class Progress {
 public:
  void show(const std::string& what) {
    if (!terminal_) return;
    const std::string text = "\r\x1b[K" + tools::harmless(what);
    std::fwrite(text.data(), 1, text.size(), stderr);
    shown_ = true;
  }
  void begin(const std::string& what) {
    if (terminal_) {
      show(what);
    } else {
      say(what);
    }
  }
  void clear() {
    if (shown_) std::fputs("\r\x1b[K", stderr);
    shown_ = false;
  }

 private:
  const bool terminal_ = isatty(STDERR_FILENO) != 0;
  bool shown_ = false;
};

class Collector : public Notebook {
 public:
  explicit Collector(const Plan& plan) : plan_(plan) {}

  [[nodiscard]] const Plan& plan() const override { return plan_; }
  [[nodiscard]] bool interrupted() const override { return tools::interrupted(); }
  void progress(const std::string& what) override { progress_.show(what); }
  void record(ordered_json measurement) override { measurements.push_back(std::move(measurement)); }
  void failed(const Target& space, std::string_view workload, const std::string& why) override {
    complain(space.id, workload, why);
  }

  void complain(const std::string& space, std::string_view workload, const std::string& why) {
    // Ctrl-C is no fault of a store.
    if (interrupted() && !workload.empty()) return;
    progress_.clear();
    say(space + (workload.empty() ? "" : ": " + std::string(workload)) + ": " + why);
    failures.push_back({{"space", space}, {"workload", workload}, {"why", why}});
  }
  void begin(const std::string& what) { progress_.begin(what); }
  void end() { progress_.clear(); }

  ordered_json measurements = ordered_json::array();
  ordered_json failures = ordered_json::array();

 private:
  const Plan& plan_;
  Progress progress_;
};

void run(Collector& collector, const Target& space, const Workload& workload) {
  try {
    workload.run(collector, space);
  } catch (const std::exception& error) {
    collector.failed(space, workload.name, error.what());
  }
}

}  // namespace

ordered_json conduct(const Plan& plan, std::span<const Target> spaces,
                     std::span<const Workload> chosen, std::span<const std::string> complaints) {
  const TimePoint began = BootClock::now();
  ordered_json results = {{"lockset", LOCKSET_VERSION}, {"began", utc_now()}};
  Collector collector(plan);
  for (const std::string& complaint : complaints) collector.complain(complaint, "", "left out");
  auto described = ordered_json::array();
  for (const Target& space : spaces) {
    if (collector.interrupted()) break;
    collector.begin(space.id + ": connecting");
    try {
      prepare(space, plan.max_overtakes);
      described.push_back({{"id", space.id}, {"url", space.url.redacted()}});
      described.back()["settings"] = space.store->settings == nullptr
                                         ? ordered_json::object()
                                         : space.store->settings(space.url);
    } catch (const std::exception& error) {
      collector.failed(space, "", error.what());
      continue;
    }
    for (const Workload& workload : chosen) {
      if (collector.interrupted()) break;
      collector.begin(space.id + ": " + std::string(workload.name));
      run(collector, space, workload);
    }
    try {
      clean(space);
    } catch (const std::exception& error) {
      collector.failed(space, "", std::string("cleaning up: ") + error.what());
    }
  }
  collector.end();
  results["seconds"] = std::chrono::duration<double>(BootClock::now() - began).count();
  results["interrupted"] = collector.interrupted();
  results["quick"] = plan.quick;
  results["method"] = {{"repetitions", plan.repetitions},
                       {"slice_seconds", std::chrono::duration<double>(plan.slice).count()}};
  results["machine"] = machine();
  results["spaces"] = std::move(described);
  results["failures"] = std::move(collector.failures);
  results["measurements"] = std::move(collector.measurements);
  return results;
}

}  // namespace lockset::bench
