#include "benchmarks/options.h"

#include <fstream>
#include <iostream>

#include "lockset/lock_set.h"
#include "tools/failure.h"
#include "tools/nearest.h"
#include "tools/options.h"

namespace lockset::bench {
namespace {

Workload find_workload(const tools::GivenOptions& given, const std::string& name) {
  std::vector<std::string_view> names;
  for (const Workload& workload : workloads()) {
    if (workload.name == name) return workload;
    names.push_back(workload.name);
  }
  throw given.wrong("there is no workload " + in_quotes(name) + tools::did_you_mean(name, names));
}

void read_addresses(std::istream& from, std::vector<std::string>& addresses) {
  for (std::string line; std::getline(from, line);) {
    if (!line.empty() && line.front() != '#') addresses.push_back(line);
  }
}

void read_addresses(const std::string& file, std::vector<std::string>& addresses) {
  if (file == "-") return read_addresses(std::cin, addresses);
  std::ifstream from(file);
  if (!from) throw tools::Failure(tools::exit_usage, "can't read --urls " + in_quotes(file));
  read_addresses(from, addresses);
}

}  // namespace

std::string help() {
  std::string text =
      "Measures lock spaces, the least that their stores can do, and what people would use\n"
      "instead, all in turns.\n"
      "\n"
      "  lockset-bench [OPTION...] [NAME=]ADDRESS...\n"
      "  lockset-bench report RESULTS [--html FILE]     shows the results of an earlier run\n"
      "\n"
      "  --urls FILE        more addresses, one per line; - is standard input. For addresses\n"
      "                     with a password, which others could see in the arguments\n"
      "  --quick            fewer points and shorter turns\n"
      "  --workload NAME    only this one; may be repeated\n"
      "  --repetitions N    turns of each measurement (5; --quick 3)\n"
      "  --slice MS         milliseconds of each turn (500; --quick 200)\n"
      "  --fair K           how often a waiter may be overtaken (lockset init --fair), 0 to\n"
      "                     1000000; default: as a new space has it\n"
      "  --json FILE        the results, for programs and for report\n"
      "  --html FILE        the results as a page with charts\n"
      "\n"
      "Workloads:\n";
  for (const Workload& workload : workloads()) {
    text += "  " + std::string(workload.name) + std::string(14 - workload.name.size(), ' ') +
            std::string(workload.what) + "\n";
  }
  return text +
         "\n"
         "The measurements use separate lock spaces, not the one of the address (jobs_bench and\n"
         "jobs_bench_full; for SQLite, files), so nobody's locks are touched. But the load is\n"
         "real: don't use a server that others need. Ctrl-C ends it, with the results so far.\n"
         "\n"
         "Exit codes: 0; 64 wrong usage; 69 something could not be measured; 74 a file could not\n"
         "be written; 130 interrupted.\n";
}

Options parse_options(const std::vector<std::string>& words) {
  const tools::GivenOptions given("lockset-bench --help",
                                  {"help,h", "quick", "urls=*", "workload=*",
                                   "repetitions=", "slice=", "fair=", "json=", "html="},
                                  words, true);
  Options options;
  options.help = given.has("help");
  if (options.help) return options;
  if (const auto* json = given.text("json")) options.json = *json;
  if (const auto* html = given.text("html")) options.html = *html;
  options.plan = given.has("quick") ? quick_plan() : full_plan();
  if (const auto count = given.number("repetitions", 1, 1000)) {
    options.plan.repetitions = static_cast<int>(*count);
  }
  if (const auto slice = given.number("slice", 10, 600'000)) {
    options.plan.slice = std::chrono::milliseconds(*slice);
  }
  if (const auto most = given.number("fair", 0, 1'000'000)) {
    options.plan.max_overtakes = static_cast<std::uint32_t>(*most);
  }
  for (const auto& name : given.texts("workload")) {
    options.chosen.push_back(find_workload(given, name));
  }
  if (options.chosen.empty()) options.chosen.assign(workloads().begin(), workloads().end());
  options.addresses = given.operands();
  if (!options.addresses.empty() && options.addresses[0] == "report") {
    if (options.addresses.size() != 2) throw given.wrong("report takes one file of results");
    options.results = options.addresses[1];
    return options;
  }
  for (const auto& file : given.texts("urls")) read_addresses(file, options.addresses);
  if (options.addresses.empty()) throw given.wrong("there is no address to measure");
  return options;
}

}  // namespace lockset::bench
