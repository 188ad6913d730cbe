// The permits that may have applied to a call: those of the last change before it, and of each
// change that was under way during it. Used inside history/ only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "history/timeline.h"

namespace lockset::history {

class PermitsBook {
 public:
  explicit PermitsBook(const Timeline& line);

  struct Possible {
    // No change had certainly been made before: the initial permits are not known.
    bool anything = false;
    std::vector<std::uint32_t> values;
    [[nodiscard]] bool admits(std::uint32_t value) const {
      return anything || std::find(values.begin(), values.end(), value) != values.end();
    }
  };
  [[nodiscard]] Possible during(std::uint32_t name, Mode mode, Interval call) const;

 private:
  struct OfName {
    std::vector<PermitsChange> changes;  // by begin
    std::vector<TimePoint> latest_end;   // of the changes up to this one
    // Sorted by end: when a change ended, and the latest beginning among those that had ended by
    // then.
    std::vector<Interval> done;
  };
  std::vector<OfName> of_name_;
};

}  // namespace lockset::history
