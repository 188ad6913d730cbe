// I8: after the run, when every lease has ended, nothing is left in the store.
#include "history/timeline.h"

namespace lockset::history {

void check_leaks(const Timeline& line, const Rules&, Findings& findings) {
  for (const Quiet& end : line.ends) {
    const auto complain = [&](std::uint64_t left, const char* of_what) {
      if (left == 0) return;
      findings.add(Invariant::leaks, [&] {
        return std::to_string(left) + " " + of_what + " left at " + line.at(end.at) +
               ", when all was over";
      });
    };
    complain(end.left.holds, "holds");
    complain(end.left.waiters, "waiters");
    complain(end.left.connections, "connections");
  }
}

}  // namespace lockset::history
