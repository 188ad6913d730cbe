#include "benchmarks/workloads/race.h"

namespace lockset::bench {
namespace {

constexpr std::string_view read_mostly_workload = "read-mostly";
constexpr std::size_t clients = 16;
constexpr std::size_t names = 8;

}  // namespace

void read_mostly(Notebook& notebook, const Target& space) {
  const bool shared = space.url.scheme != "memory";
  if (!shared) return;  // there each process has its own permits, which nobody has set
  permit_readers(space);
  std::vector<Racer> lanes;
  for (auto& group :
       groups(notebook, space, read_mostly_workload, {.clients = clients, .processes = clients},
              [](const Rival& rival) { return rival.reads && rival.waits; })) {
    Racer lane{.group = std::move(group), .order = {}, .floor = {}, .labels = {}};
    lane.order.shared = names;
    lane.order.reads = 0.95;
    lanes.push_back(std::move(lane));
  }
  race_and_record(notebook, space, read_mostly_workload, lanes);
}

}  // namespace lockset::bench
