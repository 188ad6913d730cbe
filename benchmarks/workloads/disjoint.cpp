#include "benchmarks/workloads/race.h"

namespace lockset::bench {
namespace {

constexpr std::string_view disjoint_workload = "disjoint";

void run(Notebook& notebook, const Target& space, Group::Size size) {
  // Lockset's internal repetitions are part of promise P3.
  race_and_record(
      notebook, space, disjoint_workload,
      against_floor(groups(
          notebook, space, disjoint_workload, size, [](const Rival&) { return true; }, true)));
}

}  // namespace

void disjoint(Notebook& notebook, const Target& space) {
  const bool shared = space.url.scheme != "memory";
  for (const std::size_t clients : notebook.plan().clients) {
    if (notebook.interrupted()) return;
    if (shared) run(notebook, space, {.clients = clients, .processes = clients});
    // The threads of one process share its resources: in Lockset a pool of connections.
    if (clients == 16 || !shared) run(notebook, space, {.clients = clients, .processes = 1});
  }
}

}  // namespace lockset::bench
