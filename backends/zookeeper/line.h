// Who waits for a name, in the order in which they came. Each waiter is in the lines of all names
// of its set. The bound on overtaking (semantics 13) counts by these; waiting.h decides who is
// woken.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/zookeeper/requests.h"
#include "lockset/lock_set.h"

namespace lockset::zookeeper {

// The data of a name for which somebody may be in line.
inline constexpr std::string_view in_line_mark = "q";

struct InLine {
  Mode mode = Mode::write;
  std::string token;  // of the waiter
  std::int32_t sequence = 0;
};

struct Line {
  std::vector<InLine> waiters;  // longest wait first
  // The waiter that the next release of this name wakes; "" if the name blocks nobody.
  std::string next;
  // The version of the queue's node, which each waiter who comes raises; unset: there is no node.
  std::optional<std::int32_t> version{};

  // Those who came before this waiter; all, if it is not in the line.
  [[nodiscard]] std::vector<InLine> before(std::string_view token) const;
};

// The beginning of a waiter's part of the path; the server adds the sequence.
std::string line_part(Mode mode, std::string_view token);
// The number that the server gave to "w-TOKEN-0000000012" or "r-...", the waiter's node in a queue.
std::int32_t sequence_of(std::string_view child);
std::string_view token_of(std::string_view child);
// From a queue that was read with its children.
Line line_of(const Reply& queue);

}  // namespace lockset::zookeeper
