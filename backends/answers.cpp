#include "backends/answers.h"

#include <string>

#include "lockset/lock_set.h"

namespace lockset {

Error newer_epoch(std::string_view app, std::string_view begun) {
  return {Errc::superseded, "a newer instance of application " + in_quotes(app) +
                                " has begun the epoch " + std::string(begun)};
}

Error no_live_epoch(std::string_view app, std::int64_t epoch) {
  return {Errc::not_held, "the hold " + std::to_string(epoch) + " of application " +
                              in_quotes(app) + " is not live: its epoch can't begin"};
}

Error foreign_ticket() { return {Errc::internal, "a wait ticket of another backend"}; }

}  // namespace lockset
