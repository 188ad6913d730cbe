#include "benchmarks/workloads/race.h"

namespace lockset::bench {
namespace {

constexpr std::string_view uncontended_workload = "uncontended";

}  // namespace

void uncontended(Notebook& notebook, const Target& space) {
  race_and_record(notebook, space, uncontended_workload,
                  against_floor(groups(notebook, space, uncontended_workload, {},
                                       [](const Rival&) { return true; })));
}

}  // namespace lockset::bench
