#include "lockset/patterns/guarded.h"

#include <algorithm>

namespace lockset {

Status covers(const Hold& hold, std::string_view name, Mode mode) {
  // A lost hold still has its names; a hold that was released or moved from is not valid either.
  if (!hold.valid()) {
    const LostReason reason = hold.lost_reason();
    return Error{
        Errc::not_held,
        "the hold on " + in_quotes(name) + " is not valid: " +
            (reason == LostReason::not_lost ? "it was released" : std::string(to_string(reason)))};
  }
  const auto items = hold.items();
  const auto item = std::ranges::find(items, name, &LockRequest::name);
  if (item == items.end()) {
    return Error{Errc::invalid, "this hold (stamp " + std::to_string(hold.stamp().value) +
                                    ") does not have " + in_quotes(name)};
  }
  if (mode == Mode::write && item->mode == Mode::read) {
    return Error{Errc::invalid, "this hold (stamp " + std::to_string(hold.stamp().value) +
                                    ") has " + in_quotes(name) + " as read, and write is needed"};
  }
  return {};
}

}  // namespace lockset
