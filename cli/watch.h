// Shows something once, or again and again: --watch.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cli/signals.h"
#include "lockset/error.h"

namespace lockset::cli {

class Watch {
 public:
  // `again`: until a signal asks to end. On a terminal each text replaces the one before, unless it
  // is `json`. REQUIRES: no other thread yet.
  Watch(bool again, bool json);

  // Shows what `look` returns; once a second if again, then only if it differs. Returns the exit
  // code: 0, or 128 + the signal that ended it. A store that does not answer is waited for if
  // again; throws any other error.
  int show(const std::function<Result<std::string>()>& look);

 private:
  bool wait_to_look_again(int& ended_by);

  const bool json_;
  std::optional<Signals> signals_;  // set: again
};

}  // namespace lockset::cli
