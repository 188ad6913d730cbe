#include "tests/chaos/choice.h"

#include <algorithm>

#include "lockset/lock_set.h"
#include "tools/failure.h"
#include "tools/nearest.h"

namespace lockset::chaos {
namespace {

// Every kind is valid for every backend: a list may be used for several.
bool is_kind(const std::string& word) {
  for (const FaultKind kind : {FaultKind::network, FaultKind::server, FaultKind::session,
                               FaultKind::load, FaultKind::state, FaultKind::clock,
                               FaultKind::partition, FaultKind::restore, FaultKind::unfit}) {
    if (word == to_string(kind)) return true;
  }
  return false;
}

}  // namespace

std::vector<std::size_t> choose_faults(const Options& options, const std::vector<Fault>& faults) {
  std::vector<std::string_view> known{"kill", "stop"};
  // Processes that fork can't follow a migration yet.
  if (!options.migrate) known.emplace_back("fork");
  for (const Fault& fault : faults) {
    known.push_back(fault.name);
    const bool new_one = std::find(known.begin(), known.end(), fault.also) == known.end();
    if (!fault.also.empty() && new_one) known.push_back(fault.also);
  }
  for (const std::string& word : options.faults) {
    if (word == "all" || word == "clock-forward" || is_kind(word)) continue;
    if (std::find(known.begin(), known.end(), word) != known.end()) continue;
    std::string all;
    for (const std::string_view each : known) all += (all.empty() ? "" : ", ") + std::string(each);
    throw tools::Failure(tools::exit_usage, options.backend + " has no fault " + in_quotes(word) +
                                                tools::did_you_mean(word, known) +
                                                "; it has: " + all);
  }
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < faults.size(); ++i) {
    const std::string kind(to_string(faults[i].kind));
    const bool by_name = std::find(options.faults.begin(), options.faults.end(), faults[i].name) !=
                         options.faults.end();
    const bool too_long = faults[i].takes > Duration::zero() &&
                          faults[i].longest + faults[i].takes > options.time / 4;
    if (too_long && !by_name) continue;
    if (options.wants(faults[i].name, kind) || options.wants(faults[i].also, kind)) {
      chosen.push_back(i);
    }
  }
  return chosen;
}

}  // namespace lockset::chaos
