// Decides what an acquire does next: try, look a lost reply up, wait, or end. A
// pure machine: it is told what happened and when, and answers with one action;
// whoever drives it does the I/O. Semantics 13 and 14.
#pragma once

#include <functional>
#include <optional>
#include <variant>
#include <vector>

#include "core/random.h"
#include "lockset/backend.h"
#include "lockset/clock.h"
#include "lockset/error.h"
#include "lockset/stamp.h"

namespace lockset {

class AcquireLoop {
 public:
  struct Settings {
    TimePoint deadline = TimePoint::max();
    // One try only: contention ends the loop at once. `deadline` is of no account.
    bool single_try = false;
    // How long a waiting acquire bears a store in trouble.
    Duration patience{};
    // The store announces releases: polling is only the safety net.
    bool push_wakeup = false;
  };

  // Send one attempt with this token.
  struct Attempt {
    Token token;
  };
  // Ask what became of an earlier attempt.
  struct Resolve {
    Token token;
  };
  // The grant is of no use any more: release it, whatever comes of that.
  struct Discard {
    Stamp stamp;
  };
  // Wait until then, or for a hint that the set may be free, or for a stop.
  struct Wait {
    TimePoint until;
    bool for_change = false;  // false: the store is in trouble, and can't give hints
  };
  struct Granted {
    Grant grant;
    TimePoint sent;  // the validity counts from here
  };
  struct Contended {
    Busy busy;
  };
  using Finish = std::variant<Granted, Contended, Error>;
  using Action = std::variant<Attempt, Resolve, Discard, Wait, Finish>;

  // An attempt whose outcome is not known; it may still be granted later. What the
  // loop leaves behind has to be looked up and released in the background.
  struct Doubt {
    Token token;
    TimePoint sent;
  };

  using NewToken = std::function<Token()>;

  AcquireLoop(const Settings& settings, Random& random, NewToken new_token);

  // Each call says what became of the action before and returns the next one. `now`
  // never goes back. The moment at which an Attempt or Resolve is returned counts
  // as the moment at which it is sent.
  Action begin(TimePoint now);
  Action attempted(Result<AcquireOutcome> outcome, TimePoint now);
  Action resolved(Result<std::optional<Grant>> found, TimePoint now);
  Action discarded(TimePoint now);
  Action waited(TimePoint now);
  // The caller does not want it any more. May follow any action that was carried
  // out and not reported; a grant in hand must be reported instead.
  Action stopped();

  [[nodiscard]] const std::vector<Doubt>& doubts() const noexcept { return doubts_; }

 private:
  Action attempt(TimePoint now);
  Action resolve_one(TimePoint now);
  Action grant(Grant grant, TimePoint sent, TimePoint now);
  Action busy(Busy busy, TimePoint now);
  Action trouble(Error error, TimePoint now);

  Settings settings_;
  Random& random_;
  NewToken new_token_;
  Token token_;     // of the attempt under way
  TimePoint sent_;  // of the attempt or resolve under way
  Duration next_poll_;
  int stale_in_a_row_ = 0;
  std::optional<TimePoint> trouble_since_;
  Duration next_backoff_;
  std::vector<Doubt> doubts_;
  std::size_t next_doubt_ = 0;
};

}  // namespace lockset
