#include <array>

#include "benchmarks/workloads/workload.h"

namespace lockset::bench {

using std::chrono::milliseconds;
using std::chrono::seconds;

Plan full_plan() {
  return {.quick = false,
          .repetitions = 5,
          .slice = milliseconds(500),
          .clients = {2, 4, 16, 64},
          .set_sizes = {1, 2, 8, 64},
          .waiters = {2, 8, 200},
          .holds = {100, 10'000, 1'000'000},
          .renewed = 10'000,
          .renewal_lease = seconds(30),
          .crash_lease = seconds(2),
          .starving_slice = seconds(4),
          .starving_turns = 3,
          .crowd_slice = seconds(10),
          .crowd_turns = 3};
}

Plan quick_plan() {
  return {.quick = true,
          .repetitions = 3,
          .slice = milliseconds(200),
          .clients = {4, 16},
          .set_sizes = {1, 8},
          .waiters = {8},
          .holds = {10'000},
          .renewed = 1'000,
          .renewal_lease = seconds(6),
          .crash_lease = seconds(1),
          .starving_slice = seconds(3),
          .starving_turns = 1,
          .crowd_slice = seconds(10),
          .crowd_turns = 1};
}

std::span<const Workload> workloads() noexcept {
  static constexpr std::array all{
      Workload{"uncontended", "one client locks and unlocks one name", uncontended},
      Workload{"disjoint", "up to 64 clients, in processes and in threads, each with its own name",
               disjoint},
      Workload{"set-size", "one client takes sets of up to 64 names", set_size},
      Workload{"read-mostly", "16 clients, 8 names, 95 % reads", read_mostly},
      Workload{"contended", "up to 200 clients want one name: hand-over and fairness", contended},
      Workload{"starving", "a set of 8 among clients of single names; a writer among 8 readers",
               starving},
      Workload{"many-held", "one client, while others have up to a million holds", many_held},
      Workload{"renewal", "a process renews 10,000 holds while another one locks", renewal},
      Workload{"crash", "from kill -9 of a holder to the next grant", crash},
  };
  return all;
}

}  // namespace lockset::bench
