// How many may have held a name at each moment, as steps. Inside history/ only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "history/timeline.h"

namespace lockset::history {

// The holds of one name that may have been there, by mode. Each counts at both ends of its
// interval: who may have been there at that very instant, may have been in the way.
class MayHold {
 public:
  // Since when a grant counts that its caller waited for. It may have been made at any
  // moment since it was asked for; but who asks whether waiters found it free wants to know
  // who had it, and not who else waited.
  enum class Since : std::uint8_t { asked, granted };
  MayHold(const Timeline& line, std::uint32_t name, Since since = Since::asked);

  // Whether at some instant from `during.begin` to `during.end`, both included, a request
  // of this mode can have been refused.
  [[nodiscard]] bool can_block(Mode mode, std::uint32_t permits, Interval during) const;

  // Adds to `blocked` the parts of `during` in which it can have been refused, in order.
  void add_blocked(Mode mode, std::uint32_t permits, Interval during,
                   std::vector<Interval>& blocked) const;

  // Since when, up to the end of `during`, it can surely not have been refused any more;
  // `during.begin` if it never can have been.
  [[nodiscard]] TimePoint free_since(Mode mode, std::uint32_t permits, Interval during) const;

  // How many, of both modes, were there just before `time`.
  [[nodiscard]] std::uint32_t just_before(TimePoint time) const;

 private:
  struct Count {
    std::uint32_t readers = 0;
    std::uint32_t writers = 0;
    [[nodiscard]] bool blocks(Mode mode, std::uint32_t permits) const {
      return mode == Mode::write ? readers > 0 || writers >= permits
                                 : writers > 0 || readers >= permits;
    }
  };
  // The step in which `time` lies, or that which begins there.
  [[nodiscard]] std::size_t step_at(TimePoint time) const;
  [[nodiscard]] Count most(std::size_t from, std::size_t to) const;

  // Step i lasts from times_[i] until times_[i + 1] is reached; before the first there is
  // nobody.
  std::vector<TimePoint> times_;
  std::vector<Count> counts_;
  std::vector<Count> tree_;  // the greatest counts, over halves of halves
};

}  // namespace lockset::history
