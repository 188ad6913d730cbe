#include "tools/nearest.h"

#include <algorithm>
#include <vector>

namespace lockset::tools {
namespace {

// The number of edits that turn `a` into `b`; a swap of neighbours counts as one.
std::size_t slips(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::string_view nearest(std::string_view typed, std::span<const std::string_view> known) {
  constexpr std::size_t most_slips = 2;
  constexpr std::size_t longest_word = 64;  // the cost grows with the square of the length
  if (typed.size() > longest_word) return {};
  std::string_view best;
  std::size_t fewest = most_slips + 1;
  for (const std::string_view word : known) {
    const std::size_t count = slips(typed, word);
    if (count < fewest && 2 * count < word.size()) {
      fewest = count;
      best = word;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view typed, std::span<const std::string_view> known,
                         std::string_view prefix) {
  const std::string_view word = nearest(typed, known);
  if (word.empty()) return {};
  return "; did you mean " + std::string(prefix) + std::string(word) + "?";
}

}  // namespace lockset::tools
