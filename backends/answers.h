// Answers for which every store uses the same words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lockset/backend.h"

namespace lockset {

// The message of a server or a library, on one line and without its full stop.
std::string one_line(std::string_view text);

// For a reclaim: the application has begun a later epoch, `begun`.
Error newer_epoch(std::string_view app, std::string_view begun);
// For a reclaim: the hold on the application id, whose stamp is the epoch, is gone.
Error no_live_epoch(std::string_view app, std::int64_t epoch);

// What had been sent when a call failed.
enum class Sent {
  nothing,  // while connecting, or not all of the request
  reading,  // a request that changes nothing, or that may be repeated without harm
  change,
};
// No answer came: Errc::indeterminate after a change, else Errc::unavailable. `where` names the
// store, for people; `quote`, " (...)", is the message of the server or its client library.
Error no_answer(Sent sent, const std::string& where, const std::string& quote);
// An unknown answer came: Errc::indeterminate after a change, else Errc::internal.
Error unknown_answer(Sent sent, const std::string& where, const std::string& quote);
// For a program, "user 'app'", that tried to change the configuration or to break a hold: nothing
// was applied. `account` is its name as `lockset init` expects it.
Error takes_an_operator(const std::string& where, const std::string& user,
                        const std::string& account);

// For a store that may have forgotten grants: `what` does not happen for so long. `seen`: when that
// was noticed, for people; may be empty.
Error in_quarantine(const std::string& where, std::string_view seen, std::string_view what,
                    Duration left);

// For SetMaxOvertakes, where Traits::bounded_overtaking is false.
Error unbounded_overtaking();

// For a wait: the ticket was made by another backend.
Error foreign_ticket();

}  // namespace lockset
