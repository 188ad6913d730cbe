// Answers for which every store uses the same words.
#pragma once

#include <cstdint>
#include <string_view>

#include "lockset/backend.h"

namespace lockset {

// To a reclaim: the application has begun a later epoch, `begun`.
Error newer_epoch(std::string_view app, std::string_view begun);
// To a reclaim: the hold on the application id, whose stamp is the epoch, is gone.
Error no_live_epoch(std::string_view app, std::int64_t epoch);

// To a wait: the ticket was made by another backend.
Error foreign_ticket();

}  // namespace lockset
