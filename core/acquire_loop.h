// Decides what an acquire does next: try, look up a lost reply, wait, or end. A pure machine: its
// driver reports what happened and when, gets one action, and does the I/O. Semantics 13 and 14.
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
    // One try only: contention ends the loop at once. `deadline` is ignored.
    bool single_try = false;
    // How long a waiting acquire retries while the store fails.
    Duration patience{};
    // The store announces releases: polling is only the safety net.
    bool push_wakeup = false;
    // It announces them to the next waiter in line, so polling can begin later.
    bool queued_wakeup = false;
  };

  // Send one attempt with this token.
  struct Attempt {
    Token token;
  };
  // Ask what became of an earlier attempt.
  struct Resolve {
    Token token;
  };
  // The grant is useless now: release it, and ignore the result.
  struct Discard {
    Stamp stamp;
  };
  // Wait until then, or for a hint that the set may be free, or until stopped.
  struct Wait {
    TimePoint until;
    bool for_change = false;  // false: the store fails, and can't give hints
  };
  struct Granted {
    Grant grant;
    TimePoint sent;  // the validity counts from then
  };
  struct Contended {
    Busy busy;
  };
  // Changed, Gone: if doubts() are left, one of them may have been granted, was the reason, and has
  // ended since.
  using Finish = std::variant<Granted, Contended, Changed, Gone, Error>;
  using Action = std::variant<Attempt, Resolve, Discard, Wait, Finish>;

  // An attempt whose outcome is not known; it may still be granted later. After the loop, the
  // remaining doubts have to be looked up and released in the background.
  struct Doubt {
    Token token;
    TimePoint sent;
  };

  using NewToken = std::function<Token()>;

  AcquireLoop(const Settings& settings, Random& random, NewToken new_token);

  // Each call reports the result of the last action and returns the next one. `now` never goes
  // back. The moment at which an Attempt or Resolve is returned counts as the moment at which it is
  // sent.
  Action begin(TimePoint now);
  Action attempted(Result<AcquireOutcome> outcome, TimePoint now);
  Action resolved(Result<std::optional<Grant>> found, TimePoint now);
  Action discarded(TimePoint now);
  Action waited(TimePoint now);
  // The caller gave up. May follow any action that was carried out and not reported; but if the
  // action brought a grant, report it instead.
  Action stopped();

  [[nodiscard]] const std::vector<Doubt>& doubts() const noexcept { return doubts_; }

 private:
  Action attempt(TimePoint now);
  Action resolve_one(TimePoint now);
  Action grant(Grant grant, TimePoint sent, TimePoint now);
  Action busy(Busy busy, TimePoint now);
  Action refused(Finish refusal, TimePoint now);
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
  // The condition is not met, or the hold to replace is gone. The rest is to ask what became of
  // earlier attempts, because one of them may be the reason: so many of them one after the other.
  std::optional<Finish> refusal_;
  std::size_t still_to_ask_ = 0;
};

}  // namespace lockset
