#include <stdlib.h>

#include <filesystem>
#include <functional>
#include <stdexcept>
#include <thread>

#include "benchmarks/measure/spread.h"
#include "benchmarks/rivals/lockset_rival.h"
#include "benchmarks/workloads/race.h"
#include "tools/child.h"

namespace lockset::bench {
namespace {

constexpr std::string_view crash_workload = "crash";
constexpr std::string_view command_rival = "lockset run";
// After this time no further repetition begins: other rivals' leases may be long.
constexpr Duration enough = std::chrono::seconds(25);
constexpr Duration longest_crash = std::chrono::seconds(90);

nlohmann::json enter(const Target& space, const Rival& rival, std::int64_t lease_ms) {
  return {{"do", "enter"}, {"url", space.url.text}, {"rival", rival.name}, {"clients", 1},
          {"first", 0},    {"lease_ms", lease_ms}};
}

// A process that holds a name until it is killed.
class Holder {
 public:
  Holder() = default;
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  virtual ~Holder() = default;
  virtual void kill() = 0;
};
using MakeHolder =
    std::function<std::unique_ptr<Holder>(std::int64_t lease_ms, const std::string& name)>;

class HoldingWorker : public Holder {
 public:
  HoldingWorker(const Target& space, const Rival& rival, std::int64_t lease_ms,
                const std::string& name) {
    worker_.ask(enter(space, rival, lease_ms));
    worker_.ask({{"do", "lock"}, {"name", name}});
  }
  void kill() override { worker_.kill(); }

 private:
  Worker worker_;
};

// A variable of the environment, until the end of the scope: a child's address with its password
// must not be in its arguments.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* old = ::getenv(name)) old_ = old;
    ::setenv(name, value.c_str(), 1);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() {
    if (old_) {
      ::setenv(name_, old_->c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

// The command of the same build or installation; empty: there is none.
std::string find_command() {
  std::error_code ignored;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const char* place : {"lockset", "../cli/lockset"}) {
    if (std::filesystem::is_regular_file(folder / place, ignored)) return folder / place;
  }
  return "";
}

// `lockset run` with a job that would go on. Its guard survives it.
class HoldingCommand : public Holder {
 public:
  HoldingCommand(const std::string& command, const Target& space, std::int64_t lease_ms,
                 const std::string& name) {
    const Variable config("LOCKSET_CONFIG", "/dev/null");
    const Variable url("LOCKSET_URL", space.url.text);
    child_.emplace(std::vector<std::string>{command, "run", "--write", name, "--lease",
                                            std::to_string(lease_ms) + "ms", "--", "/bin/sh", "-c",
                                            "echo held; exec sleep 100"});
    if (const std::string said = child_->receive(); said != "held") {
      throw std::runtime_error("lockset run: " + said);
    }
  }
  void kill() override { child_->kill(); }

 private:
  std::optional<tools::Child> child_;
};

// Milliseconds from the kill of a holder to the grant for a waiter.
double recover(const Target& space, const Rival& waits, std::int64_t lease_ms,
               const std::string& name, const MakeHolder& make_holder) {
  Worker waiter;
  waiter.ask(enter(space, waits, lease_ms));
  const auto holder = make_holder(lease_ms, name);
  waiter.order({{"do", "lock"}, {"name", name}});
  // The other client waits, and part of the lease is over, as in reality.
  std::this_thread::sleep_for(std::chrono::milliseconds(lease_ms / 4));
  const auto killed = BootClock::now().time_since_epoch().count();
  holder->kill();
  const auto granted = waiter.answer(longest_crash).at("granted_ns").get<std::int64_t>();
  if (granted < killed) throw std::runtime_error("was granted what another one held");
  waiter.ask({{"do", "unlock"}});
  return static_cast<double>(granted - killed) / 1e6;
}

void run(Notebook& notebook, const Target& space, const Rival& rival, std::string_view shown,
         const MakeHolder& make_holder) {
  const Plan& plan = notebook.plan();
  const auto lease_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(plan.crash_lease).count();
  const TimePoint until = BootClock::now() + enough;
  std::vector<double> took;
  for (int turn = 0; turn < plan.repetitions && BootClock::now() < until; ++turn) {
    if (notebook.interrupted()) break;
    notebook.progress(space.id + ": " + std::string(crash_workload) + ", " + std::string(shown) +
                      ", turn " + std::to_string(turn + 1) + " of " +
                      std::to_string(plan.repetitions));
    const std::string name = "bench-crash-" + std::to_string(turn);
    took.push_back(recover(space, rival, lease_ms, name, make_holder));
  }
  if (took.empty()) return;
  auto repetitions = nlohmann::ordered_json::array();
  for (const double ms : took) repetitions.push_back({{"recovery_ms", ms}});
  const bool lockset = rival.role == Role::lockset;
  notebook.record({{"workload", crash_workload},
                   {"space", space.id},
                   {"rival", shown},
                   {"role", lockset ? "lockset" : "native"},
                   {"clients", 2},
                   {"processes", 2},
                   {"names", 1},
                   {"holds", 0},
                   {"repetitions", std::move(repetitions)},
                   {"lease_ms", lockset ? lease_ms : 0},
                   {"recovery_ms", spread(took)}});
}

void run(Notebook& notebook, const Target& space, const Rival& rival) {
  run(notebook, space, rival, rival.name, [&](std::int64_t lease_ms, const std::string& name) {
    return std::make_unique<HoldingWorker>(space, rival, lease_ms, name);
  });
}

void run_command(Notebook& notebook, const Target& space) {
  const std::string command = find_command();
  try {
    if (command.empty()) throw std::runtime_error("no command lockset beside lockset-bench");
    run(notebook, space, lockset_rival, command_rival,
        [&](std::int64_t lease_ms, const std::string& name) {
          return std::make_unique<HoldingCommand>(command, space, lease_ms, name);
        });
  } catch (const std::exception& error) {
    notebook.failed(space, crash_workload, std::string(command_rival) + ": " + error.what());
  }
}

}  // namespace

void crash(Notebook& notebook, const Target& space) {
  if (space.url.scheme == "memory") return;  // its locks end with the process
  run(notebook, space, lockset_rival);
  if (!notebook.interrupted()) run_command(notebook, space);
  // Other rivals may have leases of a minute.
  if (notebook.plan().quick) return;
  for (const Rival& rival : space.store->rivals) {
    if (!rival.waits || notebook.interrupted()) continue;
    try {
      run(notebook, space, rival);
    } catch (const std::exception& error) {
      notebook.failed(space, crash_workload, std::string(rival.name) + ": " + error.what());
    }
  }
}

}  // namespace lockset::bench
