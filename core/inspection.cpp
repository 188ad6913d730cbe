#include "lockset/inspection.h"

#include <algorithm>

namespace lockset {

bool InspectQuery::matches(const std::vector<LockRequest>& items) const {
  return match == Match::all ||
         std::any_of(items.begin(), items.end(), [&](const LockRequest& item) {
           return match == Match::name ? item.name == text : item.name.starts_with(text);
         });
}

}  // namespace lockset
