#include "tests/simulation/schedule.h"

#include <algorithm>
#include <array>
#include <sstream>

#include "core/random.h"

namespace lockset::simulation {
namespace {

constexpr std::array<std::string_view, 20> kinds{
    "round",  "request", "reply", "slow_request", "slow_reply", "lose_request", "lose_reply",
    "refuse", "repeat",  "hint",  "lose_hint",    "use",        "pause",        "crash",
    "step",   "wall",    "down",  "life",         "steer",      "stick"};

std::uint64_t key_of(Kind kind, std::uint32_t actor, std::uint32_t count) {
  return std::uint64_t{actor} << 48 | std::uint64_t{static_cast<std::uint8_t>(kind)} << 40 | count;
}

}  // namespace

Schedule::Schedule(std::uint64_t seed, const std::vector<Decision>& listed)
    : seed_(seed), replay_(true) {
  for (const Decision& each : listed) {
    listed_[key_of(each.kind, each.actor, each.count)] = each.value;
  }
}

std::optional<std::int64_t> Schedule::draw(Kind kind, std::uint32_t actor, double share,
                                           std::int64_t least, std::int64_t most) {
  const std::size_t counter = actor * kinds.size() + static_cast<std::size_t>(kind);
  if (counter >= counts_.size()) counts_.resize(counter + 1);
  const std::uint32_t count = counts_[counter]++;
  std::int64_t value = 0;
  if (replay_) {
    const auto at = listed_.find(key_of(kind, actor, count));
    if (at == listed_.end()) return {};
    value = at->second;
  } else {
    Random random(seed_ * 0x9E3779B97F4A7C15 ^ Random(key_of(kind, actor, count)).next());
    if (share <= 0 || static_cast<double>(random.next() >> 11) * 0x1p-53 >= share) return {};
    value = random.between(Duration(least), Duration(most)).count();
  }
  taken_.push_back({kind, actor, count, value});
  return value;
}

std::string print(const std::vector<Decision>& decisions) {
  std::string text;
  for (const Decision& each : decisions) {
    text += std::string(kinds[static_cast<std::size_t>(each.kind)]) + " " +
            std::to_string(each.actor) + " " + std::to_string(each.count) + " " +
            std::to_string(each.value) + "\n";
  }
  return text;
}

Result<std::vector<Decision>> parse_decisions(std::string_view text) {
  std::vector<Decision> decisions;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream words(line);
    std::string kind;
    std::string rest;
    Decision decision;
    words >> kind >> decision.actor >> decision.count >> decision.value;
    const auto at = std::find(kinds.begin(), kinds.end(), kind);
    if (!words || at == kinds.end() || words >> rest) {
      return Error{Errc::invalid, "no decision of a schedule: " + line};
    }
    decision.kind = static_cast<Kind>(at - kinds.begin());
    decisions.push_back(decision);
  }
  return decisions;
}

}  // namespace lockset::simulation
