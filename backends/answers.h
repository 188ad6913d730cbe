// Answers for which every store uses the same words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lockset/backend.h"

namespace lockset {

// What a server or a library said, on one line and without the full stop.
std::string one_line(std::string_view text);

// For a reclaim: the application has begun a later epoch, `begun`.
Error newer_epoch(std::string_view app, std::string_view begun);
// For a reclaim: the hold on the application id, whose stamp is the epoch, is gone.
Error no_live_epoch(std::string_view app, std::int64_t epoch);

// What had been sent when a call failed.
enum class Sent {
  nothing,  // while connecting, or not all of the request
  reading,  // what changes nothing, or does no harm however often it is done
  change,
};
// No answer came: Errc::indeterminate after a change, else Errc::unavailable. `where` names the
// store, for people; `quote`, " (...)", is what the server or its client library said.
Error no_answer(Sent sent, const std::string& where, const std::string& quote);
// An answer came that nobody knows: Errc::indeterminate after a change, else Errc::internal.
Error unknown_answer(Sent sent, const std::string& where, const std::string& quote);
// To a program, "user 'app'", that would change the configuration or break a hold: nothing was
// applied. `account` is how `lockset init` takes its name.
Error takes_an_operator(const std::string& where, const std::string& user,
                        const std::string& account);

// For a wait: the ticket was made by another backend.
Error foreign_ticket();

}  // namespace lockset
