// Delta debugging (Zeller, Hildebrandt: Simplifying and Isolating Failure-Inducing Input, 2002),
// by leaving out ever smaller pieces.
#include <algorithm>

#include "tests/simulation/run.h"

namespace lockset::simulation {

Outcome minimise(const Rerun& rerun, Outcome failed, std::size_t tries) {
  const std::string rule = failed.failures.front().rule;
  const auto breaks = [&](const Outcome& outcome) {
    return std::any_of(outcome.failures.begin(), outcome.failures.end(),
                       [&](const Outcome::Violation& each) { return each.rule == rule; });
  };
  Outcome best = std::move(failed);
  for (std::size_t piece = best.decisions.size(); piece >= 1 && tries > 0;) {
    bool smaller = false;
    for (std::size_t at = 0; at < best.decisions.size() && tries > 0; --tries) {
      std::vector<Decision> fewer = best.decisions;
      const auto from = fewer.begin() + static_cast<std::ptrdiff_t>(at);
      fewer.erase(from, from + static_cast<std::ptrdiff_t>(std::min(piece, fewer.size() - at)));
      Outcome outcome = rerun(fewer);
      // Listed decisions that do not happen are dropped as well.
      if (breaks(outcome) && outcome.decisions.size() < best.decisions.size()) {
        best = std::move(outcome);
        smaller = true;
      } else {
        at += piece;
      }
    }
    if (!smaller || piece > best.decisions.size()) {
      if (piece == 1) break;
      piece = std::max<std::size_t>(1, std::min(piece, best.decisions.size()) / 2);
    }
  }
  return best;
}

}  // namespace lockset::simulation
