#include "tests/simulation/command.h"

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>

#include "history/text.h"
#include "tests/support/seed.h"
#include "tools/options.h"

namespace lockset::simulation {
namespace {

void print_events(const Outcome& outcome) {
  struct Line {
    TimePoint time;
    std::size_t order;
    std::string text;
  };
  std::vector<Line> lines;
  for (const history::Log& log : outcome.history) {
    for (const history::Event& event : log.events) {
      std::string text = history::print(event);
      text = text.substr(text.find(' '));
      lines.push_back({event.time, lines.size(), log.process + text});
    }
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const Line& a, const Line& b) { return a.time < b.time; });
  for (const Line& line : lines) {
    const Duration passed = line.time.time_since_epoch() - std::chrono::hours(1);
    std::printf("%12.3f ms  %s", static_cast<double>(passed.count()) / 1e6, line.text.c_str());
  }
}

bool save(const Outcome& outcome, const std::string& folder) {
  for (const history::Log& log : outcome.history) {
    std::ofstream file(folder + "/" + log.process + ".log");
    file << history::print_header(log.process);
    for (const history::Event& event : log.events) file << history::print(event);
    if (!file) return false;
  }
  return true;
}

void tell(const std::string& program, std::uint64_t seed, const Outcome& outcome,
          const std::string& schedule_file) {
  std::printf("seed %llu breaks a promise:\n", static_cast<unsigned long long>(seed));
  for (const Outcome::Violation& each : outcome.failures) {
    std::printf("\n%s\n  %s\n", each.rule.c_str(), each.story.c_str());
  }
  std::printf("\nWhat happened:\n");
  print_events(outcome);
  std::printf("\nWhat has to be decided for it (%zu):\n%s", outcome.decisions.size(),
              print(outcome.decisions).c_str());
  std::printf("\nRepeat it with\n  %s --seed %llu --schedule %s\n", program.c_str(),
              static_cast<unsigned long long>(seed), schedule_file.c_str());
}

// How many of the runs break each promise, and the first run that does.
int survey(const Simulation& simulation, std::uint64_t first, std::uint64_t runs) {
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> broken;
  for (std::uint64_t seed = first; seed < first + runs; ++seed) {
    std::set<std::string> rules;
    for (const Outcome::Violation& each : simulation.run(seed, nullptr).failures)
      rules.insert(each.rule);
    for (const std::string& rule : rules) ++broken.try_emplace(rule, 0, seed).first->second.first;
  }
  for (const auto& [rule, found] : broken) {
    std::printf("%8llu runs break \"%s\", first seed %llu\n",
                static_cast<unsigned long long>(found.first), rule.c_str(),
                static_cast<unsigned long long>(found.second));
  }
  return broken.empty() ? 0 : 1;
}

bool shows_enough(const Simulation& simulation, const std::map<std::string, std::uint64_t>& counts,
                  std::uint64_t runs) {
  bool all = true;
  for (const auto& [what, least] : simulation.enough) {
    const auto at = counts.find(what);
    const std::uint64_t found = at == counts.end() ? 0 : at->second;
    if (found >= least * (runs / 1000)) continue;
    std::printf("too few: %llu %s, where %llu were expected at least\n",
                static_cast<unsigned long long>(found), what.c_str(),
                static_cast<unsigned long long>(least * (runs / 1000)));
    all = false;
  }
  return all;
}

int simulate(const std::string& program, const Simulation& simulation, std::uint64_t first,
             std::uint64_t runs, std::size_t tries) {
  std::map<std::string, std::uint64_t> counts;
  const auto began = std::chrono::steady_clock::now();
  for (std::uint64_t seed = first; seed < first + runs; ++seed) {
    Outcome outcome = simulation.run(seed, nullptr);
    if (!outcome.failures.empty()) {
      std::printf("seed %llu failed, the %llu. of this time; making it small...\n",
                  static_cast<unsigned long long>(seed),
                  static_cast<unsigned long long>(seed - first + 1));
      const Outcome small =
          minimise([&](const std::vector<Decision>& fewer) { return simulation.run(seed, &fewer); },
                   std::move(outcome), tries);
      const std::string file = "simulation-" + std::to_string(seed) + ".schedule";
      std::ofstream(file) << print(small.decisions);
      tell(program, seed, small, file);
      return 1;
    }
    for (const auto& [what, count] : outcome.counts) counts[what] += count;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  std::printf("%llu runs from seed %llu in %.1f s. What happened in them:\n",
              static_cast<unsigned long long>(runs), static_cast<unsigned long long>(first),
              took.count());
  for (const auto& [what, count] : counts) {
    std::printf("%12llu %s\n", static_cast<unsigned long long>(count), what.c_str());
  }
  return shows_enough(simulation, counts, runs) ? 0 : 1;
}

// The first seed whose run breaks one of the promises that it has to break.
int hunt(const Simulation& simulation, std::uint64_t first, std::uint64_t runs) {
  const auto broken = [&](std::uint64_t seed) {
    std::vector<std::string> stories;
    for (const Outcome::Violation& each : simulation.run(seed, nullptr).failures) {
      if (simulation.must_break.contains(each.rule)) {
        stories.push_back(each.rule + "\n  " + each.story);
      }
    }
    return stories;
  };
  for (std::uint64_t seed = first; seed < first + runs; ++seed) {
    const std::vector<std::string> stories = broken(seed);
    if (stories.empty()) continue;
    std::printf("seed %llu, the %llu. of this time, breaks %s\n",
                static_cast<unsigned long long>(seed),
                static_cast<unsigned long long>(seed - first + 1), stories.front().c_str());
    if (broken(seed) == stories) return 0;
    std::printf("but not in the same way when it is run again\n");
    return 1;
  }
  std::printf("%llu runs from seed %llu break no promise that they were expected to break\n",
              static_cast<unsigned long long>(runs), static_cast<unsigned long long>(first));
  return 1;
}

std::string help(const std::string& program, std::uint64_t runs) {
  return program +
         " [OPTION...]\n"
         "\n"
         "  --help           this text\n"
         "  --mutant NAME    with this deliberate mistake, which has to show\n"
         "  --seed N         the first seed (LOCKSET_SIM_SEED; 1)\n"
         "  --runs N         how many seeds (LOCKSET_SIM_RUNS; " +
         std::to_string(runs) +
         ")\n"
         "  --tries N        how many runs to spend on making a failure small (3000)\n"
         "  --survey         continue after failures, and count them\n"
         "  --schedule FILE  one run, with these decisions instead of the seed's\n"
         "  --events         one run, with all its events\n"
         "  --save DIR       one run, its history in this folder\n";
}

int run(const std::string& program, const std::vector<std::string>& words, const Make& make) {
  const tools::GivenOptions given(
      program + " --help",
      {"help", "mutant=", "seed=", "runs=", "tries=", "survey", "schedule=", "events", "save="},
      words);
  const Simulation simulation = make(given.text("mutant"));
  if (given.has("help")) {
    std::cout << help(program, simulation.runs);
    return 0;
  }
  const std::uint64_t seed =
      given.number("seed").value_or(test::number_from_environment("LOCKSET_SIM_SEED", 1));
  const std::uint64_t runs = given.number("runs").value_or(
      test::number_from_environment("LOCKSET_SIM_RUNS", simulation.runs));
  const std::size_t tries = given.number("tries").value_or(3000);
  const std::string* const schedule_file = given.text("schedule");
  const std::string* const folder = given.text("save");
  if (given.has("survey")) return survey(simulation, seed, runs);
  const bool one = schedule_file != nullptr || folder != nullptr || given.has("events");
  if (!one && !simulation.must_break.empty()) return hunt(simulation, seed, runs);
  if (!one) return simulate(program, simulation, seed, runs, tries);

  Outcome outcome;
  if (schedule_file == nullptr) {
    outcome = simulation.run(seed, nullptr);
  } else {
    std::ostringstream text;
    text << std::ifstream(*schedule_file).rdbuf();
    const Result<std::vector<Decision>> decisions = parse_decisions(text.str());
    if (!decisions) {
      std::cerr << decisions.error().message << "\n";
      return 65;
    }
    outcome = simulation.run(seed, &*decisions);
  }
  if (folder != nullptr && !save(outcome, *folder)) {
    std::cerr << "can't write into " << *folder << "\n";
    return 74;
  }
  print_events(outcome);
  for (const Outcome::Violation& each : outcome.failures) {
    std::printf("\n%s\n  %s\n", each.rule.c_str(), each.story.c_str());
  }
  return outcome.failures.empty() ? 0 : 1;
}

}  // namespace

int command(const std::string& program, int argc, char** argv, const Make& make) {
  try {
    return run(program, {argv + 1, argv + argc}, make);
  } catch (const tools::Failure& failure) {
    std::cerr << program << ": " << failure.what() << "\n";
    return failure.code();
  }
}

}  // namespace lockset::simulation
