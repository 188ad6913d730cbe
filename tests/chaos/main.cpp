// lockset_chaos: hammers one backend, breaks everything meanwhile, and checks the recorded
// history. scripts/chaos builds and runs it.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <system_error>

#include "cli/failure.h"
#include "cli/history_files.h"
#include "cli/table.h"
#include "tests/chaos/options.h"
#include "tests/chaos/run.h"
#include "tests/chaos/stores/store.h"
#include "tests/chaos/summary.h"
#include "tests/support/interrupt.h"

namespace lockset::chaos {
namespace {

namespace fs = std::filesystem;

constexpr int exit_violation = 1;

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

// An own one if none was named. What lay in a folder from before would be taken for a part of
// this run.
fs::path make_report(const fs::path& named) {
  std::error_code error;
  if (named.empty()) {
    std::string made = (fs::temp_directory_path() / "lockset-chaos-XXXXXX").string();
    if (mkdtemp(made.data()) == nullptr) {
      throw cli::Failure(cli::exit_output,
                         "can't make a folder in " + fs::temp_directory_path().string());
    }
    return made;
  }
  fs::create_directories(named, error);
  if (error || !fs::is_directory(named)) {
    throw cli::Failure(cli::exit_usage, "can't make the folder " + cli::shown(named.string()));
  }
  if (!fs::is_empty(named, error)) {
    throw cli::Failure(cli::exit_usage,
                       "--report " + cli::shown(named.string()) + ": the folder is not empty");
  }
  return fs::absolute(named);
}

int chaos(const Options& options) {
  const Folders folders{make_report(options.report)};
  for (const fs::path& each :
       {folders.logs(), folders.output(), folders.resource(), folders.servers()}) {
    fs::create_directory(each);
  }
  const auto drop = [&] {
    std::error_code ignored;
    if (options.report.empty()) fs::remove_all(folders.report, ignored);
  };
  Outcome outcome;
  try {
    outcome = run(options, folders);
  } catch (const cli::Failure&) {
    drop();
    throw;
  }
  const auto report = history::check(
      cli::read_history(cli::history_files({folders.logs().string()})), outcome.rules);
  if (!report) throw cli::Failure(cli::exit_bad_data, report.error().message);
  const std::string text = summary(options, outcome, *report);
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
    return words.empty() ? cli::exit_usage : 0;
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
  lockset::test::catch_interrupts();
  try {
    return lockset::chaos::dispatch({argv + 1, argv + argc});
  } catch (const lockset::cli::Failure& failure) {
    std::fprintf(stderr, "lockset_chaos: %s\n", failure.what());
    return failure.code();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lockset_chaos: %s\n", error.what());
    return lockset::cli::exit_internal;
  }
}
