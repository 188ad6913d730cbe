// A process of clients: it gets orders on standard input and answers on standard output, one line
// of JSON each. Addresses are sent this way too, because they contain passwords.
//
//   {"do": "enter", "url", "rival", "clients", "first", "events"?, "lease_ms"?}   connects
//   {"do": "cycle", ...}    CycleOrder; answers CycleResult
//   {"do": "lock", "name"}  by the first client; answers {"granted_ns"}
//   {"do": "unlock"}
//   {"do": "keep", "url", "count", "lease_ms"}   takes this many holds, keeps and renews them
//   {"do": "usage"}         answers {"at_ns", "cpu_seconds", "renewed"}
//
// If an order failed, its answer has "error", one line. The end of the orders ends the process.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "benchmarks/worker/cycles.h"
#include "lockset/url.h"
#include "tools/child.h"

namespace lockset::bench {

// The process's side. REQUIRES: nothing else ran in this process before.
int work();

// The other side.
class Worker {
 public:
  // Starts another process of this program, with `worker` as its only argument.
  Worker();
  // Lets the process end in order, for a few seconds; then kills it.
  ~Worker();

  // Sends an order; answer() gets the result. So orders to several workers overlap.
  void order(const nlohmann::json& what);
  // Throws std::runtime_error with the answer's error, or if none comes within `limit`.
  nlohmann::json answer(Duration limit = std::chrono::seconds(60));
  nlohmann::json ask(const nlohmann::json& what, Duration limit = std::chrono::seconds(60)) {
    order(what);
    return answer(limit);
  }
  void kill();  // SIGKILL; it is dead on return
  // No more orders follow: the process begins to end.
  void dismiss() { child_.close_input(); }

 private:
  tools::Child child_;
  bool dead_ = false;
};

}  // namespace lockset::bench
