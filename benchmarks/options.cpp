#include "benchmarks/options.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <charconv>
#include <fstream>
#include <iostream>

#include "lockset/lock_set.h"
#include "tools/failure.h"
#include "tools/nearest.h"

namespace lockset::bench {
namespace {

namespace po = boost::program_options;

tools::Failure wrong(const std::string& what) {
  return {tools::exit_usage, what + "; see lockset-bench --help"};
}

std::int64_t number(const std::string& option, const std::string& text, std::int64_t least,
                    std::int64_t most) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end || value < least || value > most) {
    throw wrong(option + " takes a number from " + std::to_string(least) + " to " +
                std::to_string(most) + ", not " + in_quotes(text));
  }
  return value;
}

Workload find_workload(const std::string& name) {
  std::vector<std::string_view> names;
  for (const Workload& workload : workloads()) {
    if (workload.name == name) return workload;
    names.push_back(workload.name);
  }
  throw wrong("there is no workload " + in_quotes(name) + tools::did_you_mean(name, names));
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

Options parse_options(int argc, const char* const* argv) {
  po::options_description known;
  auto add = known.add_options();
  add("help,h", "");
  add("quick", "");
  add("urls", po::value<std::vector<std::string>>()->composing());
  add("workload", po::value<std::vector<std::string>>()->composing());
  add("repetitions", po::value<std::string>());
  add("slice", po::value<std::string>());
  add("json", po::value<std::string>());
  add("html", po::value<std::string>());
  add("address", po::value<std::vector<std::string>>());
  po::positional_options_description operands;
  operands.add("address", -1);
  po::variables_map given;
  try {
    const auto style =
        po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
    po::store(
        po::command_line_parser(argc, argv).options(known).positional(operands).style(style).run(),
        given);
    po::notify(given);
  } catch (const po::unknown_option& error) {
    static constexpr std::string_view names[] = {"--help",        "--quick", "--urls", "--workload",
                                                 "--repetitions", "--slice", "--json", "--html"};
    const std::string& typed = error.get_option_name();
    throw wrong("there is no option " + in_quotes(typed) + tools::did_you_mean(typed, names));
  } catch (const po::error& error) {
    throw wrong(error.what());
  }
  Options options;
  options.help = given.count("help") != 0;
  if (options.help) return options;
  if (given.count("json") != 0) options.json = given["json"].as<std::string>();
  if (given.count("html") != 0) options.html = given["html"].as<std::string>();
  options.plan = given.count("quick") != 0 ? quick_plan() : full_plan();
  if (given.count("repetitions") != 0) {
    options.plan.repetitions =
        static_cast<int>(number("--repetitions", given["repetitions"].as<std::string>(), 1, 1000));
  }
  if (given.count("slice") != 0) {
    options.plan.slice =
        std::chrono::milliseconds(number("--slice", given["slice"].as<std::string>(), 10, 600'000));
  }
  if (given.count("workload") != 0) {
    for (const auto& name : given["workload"].as<std::vector<std::string>>()) {
      options.chosen.push_back(find_workload(name));
    }
  } else {
    options.chosen.assign(workloads().begin(), workloads().end());
  }
  if (given.count("address") != 0) {
    options.addresses = given["address"].as<std::vector<std::string>>();
  }
  if (!options.addresses.empty() && options.addresses[0] == "report") {
    if (options.addresses.size() != 2) throw wrong("report takes one file of results");
    options.results = options.addresses[1];
    return options;
  }
  if (given.count("urls") != 0) {
    for (const auto& file : given["urls"].as<std::vector<std::string>>()) {
      read_addresses(file, options.addresses);
    }
  }
  if (options.addresses.empty()) throw wrong("there is no address to measure");
  return options;
}

}  // namespace lockset::bench
