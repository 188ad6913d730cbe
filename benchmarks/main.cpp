// lockset-bench: how fast lock sets are, and what they could be at most. See docs/benchmarks.md.
#include <cstdio>
#include <cstring>

#include "benchmarks/conductor.h"
#include "benchmarks/options.h"
#include "benchmarks/worker/worker.h"
#include "cli/failure.h"
#include "tests/support/interrupt.h"

namespace lockset::bench {
namespace {

constexpr int exit_interrupted = 130;

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

int measure(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  if (options.help) {
    print(help());
    return 0;
  }
  std::vector<std::string> complaints;
  const auto measured = spaces(options.addresses, complaints);
  const auto results = conduct(options.plan, measured, options.chosen, complaints);
  print(results.dump(2) + "\n");
  if (results.at("interrupted").get<bool>()) return exit_interrupted;
  return results.at("failures").empty() ? 0 : cli::exit_store;
}

}  // namespace
}  // namespace lockset::bench

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "worker") == 0) return lockset::bench::work();
  lockset::test::catch_interrupts();
  try {
    return lockset::bench::measure(argc, argv);
  } catch (const lockset::cli::Failure& failure) {
    std::fprintf(stderr, "lockset-bench: %s\n", failure.what());
    return failure.code();
  }
}
