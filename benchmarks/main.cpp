// lockset-bench: how fast lock sets are, and how fast they could be at most. See
// docs/benchmarks.md.
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "benchmarks/conductor.h"
#include "benchmarks/options.h"
#include "benchmarks/report/page.h"
#include "benchmarks/report/promises.h"
#include "benchmarks/report/terminal.h"
#include "benchmarks/report/write.h"
#include "benchmarks/worker/worker.h"
#include "tools/failure.h"
#include "tools/interrupt.h"

namespace lockset::bench {
namespace {

constexpr int exit_interrupted = 130;

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void write(const std::filesystem::path& path, const std::string& content) {
  if (path.empty()) return;
  try {
    write_file(path, content);
  } catch (const std::runtime_error& error) {
    throw tools::Failure(tools::exit_output, error.what());
  }
}

// An existing file keeps its content; no new file is left behind.
void check_writable(const std::filesystem::path& path) {
  std::error_code ignored;
  if (path.empty() || std::filesystem::exists(path, ignored)) return;
  write(path, "");
  std::filesystem::remove(path, ignored);
}

void show(const Options& options, const nlohmann::ordered_json& results) {
  print(terminal_report(results));
  if (!options.html.empty()) write(options.html, page(results));
}

int measure(const Options& options) {
  check_writable(options.json);
  check_writable(options.html);
  std::vector<std::string> complaints;
  const auto measured = spaces(options.addresses, complaints);
  auto results = conduct(options.plan, measured, options.chosen, complaints);
  results["promises"] = promises(results);
  // The results come first: they can't be reproduced.
  write(options.json, results.dump(1) + "\n");
  show(options, results);
  if (results.at("interrupted").get<bool>()) return exit_interrupted;
  return results.at("failures").empty() ? 0 : tools::exit_store;
}

int report(const Options& options) {
  nlohmann::ordered_json results;
  try {
    results = nlohmann::ordered_json::parse(read_file(options.results));
    show(options, results);
  } catch (const nlohmann::json::exception&) {
    throw tools::Failure(tools::exit_bad_data, options.results.string() + " is not JSON");
  } catch (const std::runtime_error& error) {
    throw tools::Failure(results.is_null() ? tools::exit_usage : tools::exit_bad_data,
                         error.what());
  }
  return 0;
}

int run(int argc, char** argv) {
  const Options options = parse_options({argv + 1, argv + argc});
  if (options.help) {
    print(help());
    return 0;
  }
  return options.results.empty() ? measure(options) : report(options);
}

}  // namespace
}  // namespace lockset::bench

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "worker") == 0) return lockset::bench::work();
  lockset::tools::catch_interrupts();
  try {
    return lockset::bench::run(argc, argv);
  } catch (const lockset::tools::Failure& failure) {
    std::fprintf(stderr, "lockset-bench: %s\n", failure.what());
    return failure.code();
  }
}
