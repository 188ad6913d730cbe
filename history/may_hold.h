// How many holders a name may have had at each moment, as steps. Used inside history/ only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "history/timeline.h"

namespace lockset::history {

// The holds of one name that may have been there, by mode. Both ends of an interval count: a hold
// that may have been there at that very instant may have blocked a request.
class MayHold {
 public:
  // From when on a waiter's grant counts. It may have been made at any moment since it was asked
  // for (asked). To find out whether waiters found a name free, only its holders matter, not the
  // other waiters (granted).
  enum class Since : std::uint8_t { asked, granted };
  MayHold(const Timeline& line, std::uint32_t name, Since since = Since::asked);

  // Whether, at some instant from `during.begin` to `during.end`, both included, the store may have
  // refused a request of this mode. `without`: one hold of that mode, which was perhaps there all
  // the while, does not count.
  [[nodiscard]] bool can_block(Mode mode, std::uint32_t permits, Interval during,
                               std::optional<Mode> without = {}) const;

  // Adds to `blocked` the parts of `during` in which the store may have refused it, in order.
  void add_blocked(Mode mode, std::uint32_t permits, Interval during,
                   std::vector<Interval>& blocked) const;

  // The moment from which on, up to the end of `during`, the store certainly had no reason to
  // refuse it; `during.begin` if it never had one.
  [[nodiscard]] TimePoint free_since(Mode mode, std::uint32_t permits, Interval during) const;

  // How many holds, of both modes, were there just before `time`.
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
  // The step that contains `time` or begins there.
  [[nodiscard]] std::size_t step_at(TimePoint time) const;
  [[nodiscard]] Count most(std::size_t from, std::size_t to) const;

  // Step i lasts from times_[i] until times_[i + 1] is reached; before the first step there are no
  // holds.
  std::vector<TimePoint> times_;
  std::vector<Count> counts_;
  std::vector<Count> tree_;  // the greatest counts, over halves of halves
};

}  // namespace lockset::history
