// A caller of the backend interface, as thin as a test wants it: knows its owner and a
// configuration, and leaves waiting and renewing to the test.
//
// If something that a test relies on goes wrong, it throws std::runtime_error; that fails the test
// with a line that says what happened.
//
// Thread-safety: one thread per Client; many clients may share one backend.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/known_hold.h"
#include "lockset/backend.h"

namespace lockset::test {

using Wanted = std::vector<LockRequest>;

// The particulars of one attempt; unset members get sensible defaults.
struct Ask {
  Duration lease = std::chrono::minutes(1);
  Stamp min_stamp{};
  bool will_wait = false;
  std::shared_ptr<WaitTicket> ticket{};
  std::optional<Token> token{};
  std::optional<TimePoint> by{};  // unset: soon
  std::vector<Expected> unchanged_since{};
  std::optional<Stamp> replaces{};
  bool ends_with_process = false;
};

// "granted 17", "busy: ...", "changed: ...", "gone", "stale" or the error, for messages.
std::string describe(const Result<AcquireOutcome>& outcome);

// Sorted by name. For expectations over Inspection::holds and the like.
Wanted sorted(Wanted items);

// The set; reserved names are allowed. Throws if it can't be made.
LockSet make_set(Wanted wanted);

// As try_acquire, until `request.by`. But if holds live in sessions (Traits::session_leases), it
// asks again for what a session's end took away. The shortest leases need sessions of 200 ms, and a
// machine that stalls that long ends them, which is no fault of the store. Fails the test if that
// happens more than now and then.
Result<AcquireOutcome> outlasting_sessions(Backend& backend, const AcquireRequest& request);

class Client {
 public:
  explicit Client(std::shared_ptr<Backend> backend, std::string app = "app",
                  std::int64_t epoch = 0);

  [[nodiscard]] Backend& backend() noexcept { return *backend_; }
  [[nodiscard]] const Owner& owner() const noexcept { return owner_; }
  [[nodiscard]] const SpaceConfig& config() const noexcept { return config_; }
  void set_label(std::string label) { owner_.label = std::move(label); }

  // Sends exactly one request, made from the configuration known here. A stale answer does not
  // change that configuration.
  Result<AcquireOutcome> ask_once(const Wanted& wanted, const Ask& ask = {});
  // As the core does: takes over the configuration of a stale answer and asks again.
  Result<AcquireOutcome> ask(const Wanted& wanted, const Ask& ask = {});

  // All four survive the end of sessions.
  // Unset: busy. Throws on anything else.
  std::optional<Grant> try_take(const Wanted& wanted, const Ask& ask = {});
  // Throws if busy.
  Grant take(const Wanted& wanted, const Ask& ask = {});
  // Throws unless busy.
  Busy meet_busy(const Wanted& wanted, const Ask& ask = {});
  // Throws unless changed.
  Changed meet_changed(const Wanted& wanted, const Ask& ask = {});
  // Throws unless gone.
  void meet_gone(const Wanted& wanted, const Ask& ask);

  // As the core does: takes over the configuration of a stale answer and asks again.
  std::vector<Trace> observe(const std::vector<std::string>& names);
  Trace observe_one(const std::string& name) { return observe(std::vector{name}).at(0); }

  // These tell the backend all that this client knows about a hold or an attempt, as the core does.
  bool release(Stamp stamp);
  bool break_hold(Stamp stamp);
  // Registers it again if the store may have forgotten it, as the core does.
  Result<std::optional<Renewal>> ask_to_renew(Stamp stamp, Duration lease);
  // The same; it has to answer.
  std::optional<Renewal> renew(Stamp stamp, Duration lease);
  std::optional<Renewal> make_permanent(Stamp stamp);
  std::optional<Grant> resolve(const Token& token);
  Inspection inspect(const InspectQuery& query = {});
  std::vector<HoldInfo> holds() { return inspect().holds; }
  [[nodiscard]] bool is_live(Stamp stamp);

  // Changes the space's configuration and takes over the result.
  void set_permits(const std::string& name, Mode mode, std::optional<std::uint32_t> permits);
  void change(const ConfigChange& change);
  void reload();

  // What this client knows about a hold or an attempt: only the stamp or the token, unless it asked
  // for the hold itself and the lease that it knows of has not ended. Valid as long as the client.
  [[nodiscard]] HoldRef known(Stamp stamp) const;
  [[nodiscard]] HoldRef known(const Token& token) const;
  [[nodiscard]] std::vector<HoldRef> known(std::span<const Stamp> stamps) const;

 private:
  using Attempt = Result<AcquireOutcome>(Backend&, const AcquireRequest&);
  Result<AcquireOutcome> ask_once(const Wanted& wanted, const Ask& ask, Attempt& attempt);
  Result<AcquireOutcome> ask(const Wanted& wanted, const Ask& ask, Attempt& attempt);

  std::shared_ptr<Backend> backend_;
  Owner owner_;
  SpaceConfig config_;
  struct Granted {
    Token token;
    TimePoint until;
  };
  void granted(const Grant& grant, const Token& token, TimePoint sent);

  std::map<Token, KnownHold> attempts_;
  std::map<Stamp, Granted> granted_;
};

}  // namespace lockset::test
