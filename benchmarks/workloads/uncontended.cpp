#include "benchmarks/workloads/race.h"

namespace lockset::bench {
namespace {

constexpr std::string_view workload = "uncontended";

}  // namespace

void uncontended(Notebook& notebook, const Target& space) {
  race_and_record(
      notebook, space, workload,
      against_floor(groups(notebook, space, workload, {}, [](const Rival&) { return true; })));
}

}  // namespace lockset::bench
