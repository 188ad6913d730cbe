#include "backends/zookeeper/line.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "backends/zookeeper/paths.h"

namespace lockset::zookeeper {
namespace {

constexpr std::size_t token_digits = 32;
constexpr std::size_t mode_size = 2;  // "w-"

}  // namespace

std::string line_part(Mode mode, std::string_view token) {
  return "l" + holder_part(mode, token) + "-";
}

std::string_view token_of(std::string_view child) {
  return child.substr(std::min(mode_size, child.size()), token_digits);
}

std::int32_t sequence_of(std::string_view child) {
  const std::string_view digits =
      child.substr(std::min(mode_size + token_digits + 1, child.size()));
  std::int32_t sequence = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), sequence);
  return sequence;
}

std::vector<InLine> Line::before(std::string_view token) const {
  const auto own = std::find_if(waiters.begin(), waiters.end(),
                                [&](const InLine& waiter) { return waiter.token == token; });
  return {waiters.begin(), own};
}

Line line_of(const Reply& queue) {
  Line line;
  if (queue.ok()) line.version = queue.stat.version;
  std::int32_t first = std::numeric_limits<std::int32_t>::max();
  for (const std::string& child : queue.children) {
    const bool in_line = child.starts_with('l');
    const std::string_view rest = std::string_view(child).substr(in_line ? 1 : 0);
    const std::optional<Holder> parts = holder_of(rest);
    if (!parts) continue;
    const std::int32_t sequence = sequence_of(rest);
    if (in_line) {
      line.waiters.push_back({parts->mode, std::string(token_of(rest)), sequence});
    } else if (sequence < first) {
      first = sequence;
      line.next = token_of(rest);
    }
  }
  std::sort(line.waiters.begin(), line.waiters.end(),
            [](const InLine& one, const InLine& other) { return one.sequence < other.sequence; });
  return line;
}

}  // namespace lockset::zookeeper
