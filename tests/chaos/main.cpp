// lockset_chaos: puts load on one backend, breaks everything meanwhile, and checks the recorded
// history. scripts/chaos builds and runs it.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <system_error>

#include "tests/chaos/migration/failures.h"
#include "tests/chaos/migration/helm.h"
#include "tests/chaos/migration/journey.h"
#include "tests/chaos/migration/migration_course.h"
#include "tests/chaos/migration/pair_store.h"
#include "tests/chaos/migration/report.h"
#include "tests/chaos/options.h"
#include "tests/chaos/progress.h"
#include "tests/chaos/run.h"
#include "tests/chaos/start_store.h"
#include "tests/chaos/stores/store.h"
#include "tests/chaos/summary.h"
#include "tests/chaos/time_course.h"
#include "tools/failure.h"
#include "tools/history_files.h"
#include "tools/interrupt.h"
#include "tools/table.h"

namespace lockset::chaos {
namespace {

namespace fs = std::filesystem;

constexpr int exit_violation = 1;

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

// Makes a new folder if none was named. Files that are already in a folder would count as part of
// this run.
fs::path make_report(const fs::path& named) {
  std::error_code error;
  if (named.empty()) {
    std::string made = (fs::temp_directory_path() / "lockset-chaos-XXXXXX").string();
    if (mkdtemp(made.data()) == nullptr) {
      throw tools::Failure(tools::exit_output,
                           "can't make a folder in " + fs::temp_directory_path().string());
    }
    return made;
  }
  fs::create_directories(named, error);
  if (error || !fs::is_directory(named)) {
    throw tools::Failure(tools::exit_usage,
                         "can't make the folder " + tools::shown(named.string()));
  }
  if (!fs::is_empty(named, error)) {
    throw tools::Failure(tools::exit_usage,
                         "--report " + tools::shown(named.string()) + ": the folder is not empty");
  }
  return fs::absolute(named);
}

// With as many, some of them have to be found unchanged.
constexpr std::uint64_t least_observations = 100;

// With as many grants, some of them have to be conversions, if the store can do that.
constexpr std::uint64_t least_grants = 500;

// The part of the summary for this kind of run, from its history. May find more errors.
using Told = std::function<std::string(const history::History& history, Outcome& outcome)>;

Outcome run_on_one(const Options& options, const Folders& folders, Progress& progress) {
  const Scenario scenario = options.clock_forward() ? Scenario::clock_forward : Scenario::safe;
  const std::unique_ptr<Store> store = start_store(options.backend, scenario);
  TimeCourse course(time_of_faults(options));
  Outcome outcome = run(options, folders, *store, course, progress);
  store->save_logs(folders.servers());
  return outcome;
}

Outcome run_migration(const Options& options, const Folders& folders, Progress& progress,
                      Told& told) {
  PairStore stores(start_store(options.migrate->from, Scenario::safe),
                   start_store(options.migrate->to, Scenario::safe));
  Helm helm = options.migrate->command.empty() ? by_library()
                                               : by_command({.program = options.migrate->command,
                                                             .from = stores.direct_old(),
                                                             .to = stores.direct_new(),
                                                             .output = folders.report / "steps.txt",
                                                             .kills = options.wants("kill", "kill"),
                                                             .seed = options.seed});
  std::unique_ptr<Quarrel> quarrel;
  if (options.migrate->quarrels) {
    quarrel = std::make_unique<Quarrel>(stores.direct_old(), stores.direct_new(), options.seed,
                                        (folders.logs() / "quarrel.log").string());
  }
  const auto course = std::make_shared<MigrationCourse>(
      journey(options.processes, options.migrate->back_from), options.processes,
      time_of_faults(options), stores, std::move(helm), std::move(quarrel), progress,
      (folders.logs() / "migration.log").string());
  Outcome outcome = run(options, folders, stores, *course, progress);
  for (const auto& [name, way] : course->ways()) {
    if (name.starts_with(LeftOvers::name_start)) outcome.rules.refused.insert(name);
  }
  if (!course->finished() && !outcome.interrupted && outcome.troubles.empty()) {
    outcome.troubles.emplace_back("the migration did not come to its end");
  }
  const bool no_quarrel = options.migrate->quarrels && course->quarrelled() == 0;
  if (course->finished() && no_quarrel) outcome.troubles.emplace_back("no two steered at once");
  stores.save_logs(folders.servers());
  const bool stops_hinder_all = !stores.bears_stopped(Way::both);
  told = [=, output = folders.output()](const history::History& history, Outcome& found) {
    const auto failures = failures_of(output, history, course->spans(), stops_hinder_all);
    if (auto lost = too_many_lost(failures, history)) found.troubles.push_back(std::move(*lost));
    return migration_report(*course, history, failures);
  };
  return outcome;
}

int chaos(const Options& options) {
  const Folders folders{make_report(options.report)};
  for (const fs::path& each :
       {folders.logs(), folders.output(), folders.resource(), folders.servers(), folders.stops()}) {
    fs::create_directory(each);
  }
  const auto drop = [&] {
    std::error_code ignored;
    if (options.report.empty()) fs::remove_all(folders.report, ignored);
  };
  Outcome outcome;
  Told told = [](const history::History&, Outcome&) { return std::string(); };
  try {
    Progress progress(folders.report / "timeline.txt");
    progress.show("Starting " + options.backend);
    outcome = options.migrate ? run_migration(options, folders, progress, told)
                              : run_on_one(options, folders, progress);
  } catch (const tools::Failure&) {
    drop();
    throw;
  }
  const history::History history =
      tools::read_history(tools::history_files({folders.logs().string()}));
  const auto report = history::check(history, outcome.rules);
  if (!report) throw tools::Failure(tools::exit_bad_data, report.error().message);
  const std::string more = told(history, outcome);
  if (report->counts.observations > least_observations && report->counts.unchanged == 0) {
    outcome.troubles.emplace_back("nothing that was observed ever counted as unchanged");
  }
  const bool converted = report->counts.upgrades > 0 && report->counts.downgrades > 0;
  if (outcome.converts && report->counts.grants > least_grants && !converted) {
    outcome.troubles.emplace_back("no hold was upgraded, or none downgraded");
  }
  const std::string text = summary(options, outcome, *report, more);
  print(text);
  std::ofstream(folders.report / "summary.txt") << text;
  const bool good = kept(outcome, *report);
  if (!good || !options.report.empty()) {
    print("Report: " + folders.report.string() + "\n");
  } else {
    print("All was kept, so the logs are not (--report DIR keeps them)\n");
    drop();
  }
  return good ? 0 : exit_violation;
}

int dispatch(const std::vector<std::string>& words) {
  if (words.empty() || words == std::vector<std::string>{"--help"} ||
      words == std::vector<std::string>{"-h"}) {
    print(usage());
    return words.empty() ? tools::exit_usage : 0;
  }
  if (words == std::vector<std::string>{"--backends"}) {
    for (const std::string& name : Store::names()) print(name + "\n");
    return 0;
  }
  return chaos(parse_options(words));
}

}  // namespace
}  // namespace lockset::chaos

int main(int argc, char** argv) {
  lockset::tools::catch_interrupts();
  try {
    return lockset::chaos::dispatch({argv + 1, argv + argc});
  } catch (const lockset::tools::Failure& failure) {
    std::fprintf(stderr, "lockset_chaos: %s\n", failure.what());
    return failure.code();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lockset_chaos: %s\n", error.what());
    return lockset::tools::exit_internal;
  }
}
