// What the conformance suite needs from a store: an empty space, clients of that space, and a look
// into it from outside.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "lockset/backend.h"
#include "tests/support/private_server.h"

namespace lockset::conformance {

// A hold as the store has it, read without the code under test.
struct RawHold {
  Stamp stamp;
  std::vector<LockRequest> items;  // sorted
  std::string app;
  bool operator==(const RawHold&) const = default;
};

// A space of a store, for one test. Its destructor removes it.
class Space {
 public:
  Space() = default;
  Space(const Space&) = delete;
  Space& operator=(const Space&) = delete;
  virtual ~Space() = default;

  // Opens another client of the space. Thread-safe.
  virtual Result<std::unique_ptr<Backend>> open() = 0;
  // The address for other processes; "" if they can't open it.
  [[nodiscard]] virtual std::string url() const { return {}; }
  // What the store holds, by ascending stamp. Thread-safe.
  virtual std::vector<RawHold> look() = 0;

  // The server behind the space. REQUIRES: HarnessTraits::has_server.
  virtual test::PrivateServer& server() { throw std::logic_error("no server"); }
  // url() with this port of the loopback in place of the server's: for a proxy.
  // REQUIRES: HarnessTraits::has_server.
  [[nodiscard]] virtual std::string url_through(std::uint16_t /*port*/) const { return {}; }
  // Makes the server end every connection of the space's clients, now. REQUIRES:
  // HarnessTraits::has_server.
  virtual void kill_connections() {}
};

// How harnesses differ, beside the Traits of their backends.
struct HarnessTraits {
  // look() reads the store itself, so it also shows expired holds that no step has removed yet.
  // Otherwise it is an inspect() by a separate client.
  bool looks_raw = false;
  // There is a server that belongs to the tests, reached over TCP: they may stop, kill and restart
  // it.
  bool has_server = false;
  // A server that was restarted may have lost grants: it makes no new ones until the space's
  // longest lease has passed (Inspection::quarantine). Earlier holds continue.
  bool quarantines = false;
  // A server that was restarted still has all holds. Otherwise it has none, and living holders
  // register theirs again.
  bool keeps_after_restart = true;
  // A step that changes something reads the state first, and then changes it by a request that
  // begins with this. "": a step is one request.
  std::string_view changes_by = {};
  // How much later than its lease a hold may end, because the store's clock is coarse.
  Duration coarse_by{};
  // Many holds are released in one round trip. Otherwise they are released over several connections
  // at a time.
  bool releases_together = true;
  // A client continues to work until exit() has run the last of the process's handlers. Otherwise
  // it finds its store unavailable from some moment on.
  bool works_during_exit = true;
  // A child may open the space even if an earlier process had it open when it forked.
  bool opens_after_fork = true;
  // How many stamps there are for each microsecond of the clock from which they are seeded. Where
  // there are several, a stamp base is raised to the next microsecond.
  std::int64_t stamps_per_us = 1;
  // A hold has parts in several stores. A sweep counts parts, and some may have ended before.
  bool sweeps_parts = false;
  // The configuration's version is the sum of the versions of at most so many stores.
  int stores = 1;
};

class Harness {
 public:
  Harness() = default;
  Harness(const Harness&) = delete;
  Harness& operator=(const Harness&) = delete;
  virtual ~Harness() = default;

  // Letters, digits and underscores: the last part of the tests' names.
  [[nodiscard]] virtual std::string name() const = 0;
  // One of builtin_schemes(); "" for none.
  [[nodiscard]] virtual std::string scheme() const = 0;
  [[nodiscard]] virtual HarnessTraits harness_traits() const { return {}; }
  // Needs nothing that a machine could lack.
  [[nodiscard]] virtual bool always_available() const { return true; }
  // Why this machine has no such store; unset if it has one. Asked once per run.
  [[nodiscard]] virtual std::optional<std::string> unavailable() { return {}; }
  // A fresh, empty space, independent of all others. Throws if it can't be made.
  virtual std::unique_ptr<Space> new_space() = 0;
};

// The harnesses of this executable, in a fixed order; they are never destroyed.
std::span<Harness* const> all_harnesses();

}  // namespace lockset::conformance
