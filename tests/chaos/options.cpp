#include "tests/chaos/options.h"

#include <algorithm>
#include <charconv>
#include <random>

#include "lockset/lock_set.h"
#include "tests/chaos/stores/store.h"
#include "tools/nearest.h"
#include "tools/options.h"

namespace lockset::chaos {
namespace {

using tools::GivenOptions;

// A quarrel takes about a minute.
constexpr Duration time_with_quarrels = std::chrono::minutes(2);
constexpr double longest_minutes = 7 * 24 * 60;

Duration minutes(const GivenOptions& given) {
  const std::string& text = *given.text("minutes");
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end || !(value > 0) || value > longest_minutes) {
    throw given.wrong_value("minutes", "a number above 0, as 10 or 0.3");
  }
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double, std::ratio<60>>(value));
}

std::string backend(const GivenOptions& given, const std::string& text) {
  if (const auto name = Store::find(text)) return *name;
  const std::vector<std::string> names = Store::names();
  const std::vector<std::string_view> views(names.begin(), names.end());
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  throw given.wrong("there is no backend " + in_quotes(text) +
                    tools::did_you_mean(text, views, "") + "; there are: " + all);
}

std::vector<std::string> faults(const GivenOptions& given) {
  const std::string& text = *given.text("faults");
  std::vector<std::string> result;
  std::size_t at = 0;
  while (at <= text.size()) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    if (comma > at) result.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  if (result.empty()) throw given.wrong("--faults needs a list, as kill,network or none");
  if (result == std::vector<std::string>{"none"}) return {};
  if (std::find(result.begin(), result.end(), "none") != result.end()) {
    throw given.wrong("--faults none stands alone");
  }
  return result;
}

Migrate migrate(const GivenOptions& given) {
  const std::vector<std::string>& stores = given.texts("migrate");
  if (stores.size() != 2) {
    throw given.wrong("--migrate takes two stores: the old one and the new one");
  }
  Migrate migrate{backend(given, stores[0]), backend(given, stores[1]), {}, {}, true};
  if (const auto* command = given.text("command")) migrate.command = *command;
  const auto* const back_from = given.text("rollback");
  if (back_from == nullptr) return migrate;
  for (const MigrationPhase phase : {MigrationPhase::dual_new, MigrationPhase::new_only}) {
    if (*back_from == to_string(phase)) migrate.back_from = phase;
  }
  if (!migrate.back_from) {
    throw given.wrong_value("rollback", "the phase to go back from, dual-new or new-only");
  }
  return migrate;
}

std::uint64_t fresh_seed() { return std::random_device()() % 1'000'000'000; }

}  // namespace

bool Options::wants(const std::string& fault, const std::string& kind) const {
  return std::any_of(faults.begin(), faults.end(), [&](const std::string& each) {
    return each == "all" || each == fault || each == kind;
  });
}

bool Options::clock_forward() const {
  return std::find(faults.begin(), faults.end(), "clock-forward") != faults.end();
}

std::string Options::command() const {
  const double asked = std::chrono::duration<double, std::ratio<60>>(time).count();
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", asked);
  std::string list;
  for (const std::string& each : faults) list += (list.empty() ? "" : ",") + each;
  const std::string of =
      !migrate
          ? "--backend " + backend
          : "--migrate " + migrate->from + " " + migrate->to +
                (migrate->back_from ? " --rollback " + std::string(to_string(*migrate->back_from))
                                    : "") +
                (migrate->command.empty() ? "" : " --command " + migrate->command) +
                " --steerers " + (migrate->quarrels ? "2" : "1");
  return "scripts/chaos " + of + " --minutes " + text + " --seed " + std::to_string(seed) +
         " --processes " + std::to_string(processes) + " --names " + std::to_string(names) +
         " --threads " + std::to_string(threads) + " --faults " + (list.empty() ? "none" : list);
}

Options parse_options(const std::vector<std::string>& words) {
  const GivenOptions given(
      "scripts/chaos --help",
      {"backend=", "migrate=...", "rollback=", "command=", "steerers=", "minutes=", "seed=",
       "processes=", "threads=", "names=", "faults=", "report="},
      words);
  Options options;
  const bool moves = given.has("migrate");
  if (!given.has("backend") && !moves) throw given.wrong("--backend is missing");
  if (given.has("backend") && moves) {
    throw given.wrong("--backend and --migrate don't go together");
  }
  for (const std::string name : {"rollback", "command", "steerers"}) {
    if (given.has(name) && !moves) throw given.wrong("--" + name + " belongs to --migrate");
  }
  if (!given.has("minutes")) throw given.wrong("--minutes is missing");
  if (moves) {
    options.migrate = migrate(given);
    options.backend = options.migrate->from + " -> " + options.migrate->to;
    options.processes = 16;
    options.threads = 1;
  } else {
    options.backend = backend(given, *given.text("backend"));
  }
  options.time = minutes(given);
  if (moves) {
    const std::uint64_t usual = options.time >= time_with_quarrels ? 2 : 1;
    options.migrate->quarrels = given.number("steerers", 1, 2).value_or(usual) == 2;
  }
  options.seed = given.number("seed", 0, 999'999'999'999'999'999).value_or(fresh_seed());
  options.processes = given.number("processes", 1, 256).value_or(options.processes);
  options.names = given.number("names", 2, 1000).value_or(options.names);
  options.threads = given.number("threads", 1, 64).value_or(options.threads);
  if (given.has("faults")) options.faults = faults(given);
  if (moves && options.clock_forward()) {
    throw given.wrong("clock-forward is a fault of runs on one backend");
  }
  if (const auto* folder = given.text("report")) {
    if (folder->empty()) throw given.wrong("--report needs the name of a folder");
    options.report = *folder;
  }
  return options;
}

std::string usage() {
  std::string text =
      "Puts load on one backend on a private server, breaks everything meanwhile, and checks\n"
      "the recorded history.\n"
      "\n"
      "  scripts/chaos --backend X[:STRATEGY] --minutes N [OPTION...]\n"
      "  scripts/chaos --migrate OLD NEW --minutes N [OPTION...]\n"
      "\n"
      "The second form moves the processes from one backend to the other, phase by phase.\n"
      "\n"
      "  --rollback P    first go forward to phase P, dual-new or new-only, and all the way back\n"
      "  --command FILE  the lockset command, which then takes the steps; with kills it is\n"
      "                  killed now and then\n"
      "  --steerers N    2: at the end of each dual-new two people go back and forth at once;\n"
      "                  default 2 in runs of two minutes or more, else 1\n"
      "  --seed S        decides faults and sets; default: a new one, which is shown\n"
      "  --processes N   default 8, in a migration 16; each opens the space separately\n"
      "  --threads N     per process; default 2, in a migration 1\n"
      "  --names N       how many names; fewer are contended more; default 6\n"
      "  --faults LIST   separated by commas: kill, stop, fork (of processes), a fault's\n"
      "                  name, a kind (network, server, session, load, state, clock, partition,\n"
      "                  restore, unfit), all, none.\n"
      "                  Default: all. clock-forward needs a separate run: exclusion may break\n"
      "  --report DIR    keeps logs and summary there. Without it they are kept only on failure\n"
      "\n"
      "Exit: 0 all promises were kept. 1 one was broken, or the run shows too little. 64 usage.\n"
      "69 a server is missing or does not start.\n"
      "\n"
      "Backends:\n";
  for (const std::string& name : Store::names()) text += "  " + name + "\n";
  return text;
}

}  // namespace lockset::chaos
