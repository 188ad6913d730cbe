// The backends of this build, by the scheme of their addresses.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lockset/backend.h"
#include "lockset/export.h"
#include "lockset/url.h"

namespace lockset LOCKSET_EXPORT {

// One thing that `lockset doctor` found out about a store.
struct Finding {
  enum class Level : std::uint8_t {
    good,     // as it should be
    warning,  // works, but weakens something that `text` names
    unsafe,   // breaks a promise: open refuses such a store
  };
  Level level = Level::good;
  std::string subject;  // the setting or the thing: "synchronous_commit"
  std::string text;     // one line: what was found and, unless good, the remedy
  // There is no lock space yet: opening makes one, or fails and says that there is none.
  bool no_space = false;
};

// What an account of the store may do in a space. Programs take, renew and release locks, wait,
// look at what is held, and reclaim what their own application left. Operators may also break any
// hold and change the configuration: permits, longest lease, the steps of a migration. The account
// that runs init has neither role: it owns the space.
enum class Role : std::uint8_t { programs, operators };

// A plain list entry; there is no self-registration (ADR 0005).
struct Scheme {
  std::string_view name;     // "sqlite"
  std::string_view example;  // "sqlite:/var/lib/jobs/locks.db"

  // Connects to an existing space (embedded stores make a missing one). Returns by `by`.
  // Errc::invalid for a malformed address, Errc::misconfigured for a store that is not fit or not
  // initialised, Errc::unavailable otherwise.
  Result<std::unique_ptr<Backend>> (*open)(const Url& url, TimePoint by);

  // Makes the space, or upgrades an older one; harmless if there is nothing to do. A person runs
  // it, by `lockset init`.
  Status (*init)(const Url& url, TimePoint by);

  // What init would do, for a person to read and to run by other means: SQL, with a newline at its
  // end. Connects to nothing. Null if there is nothing to print.
  Result<std::string> (*init_script)(const Url& url) = nullptr;

  // Looks at the store's settings and at anything between it and us, without changing anything. An
  // error only if the store can't be asked at all. Null if there is nothing to look at.
  Result<std::vector<Finding>> (*examine)(const Url& url, TimePoint by) = nullptr;

  // A second name of the scheme, which means the same ("postgres") or which these functions tell
  // apart ("rediss", with TLS). "" for none.
  std::string_view also = {};

  // What allow() would do, for a person to read and to run by other means. Ends in a newline and
  // holds no secret. Connects to nothing. Errc::invalid if it can't be the name of an account. Null
  // if there is no such text.
  Result<std::string> (*rights_script)(const Url& url, Role role,
                                       std::string_view account) = nullptr;

  // Gives an existing account of the store this role in an existing space, and takes away what the
  // role lacks: an account that was an operator and becomes a program is no operator any more.
  // Harmless if there is nothing to do. Errc::invalid if it can't be the name of an account,
  // Errc::misconfigured if the account does not exist or the user may not grant rights. Null if the
  // store has no accounts.
  Status (*allow)(const Url& url, Role role, std::string_view account, TimePoint by) = nullptr;
};

// In a fixed order. The list lives until the process ends.
std::span<const Scheme> builtin_schemes() noexcept;

// The backend for an address. Errc::invalid for an unknown scheme; the message names the known
// ones.
Result<std::unique_ptr<Backend>> open_backend(std::string_view url, TimePoint by);

// Runs the init of the address's scheme.
Status init_space(std::string_view url, TimePoint by);

// The init script of the address's scheme; Errc::unsupported if it has none.
Result<std::string> init_script(std::string_view url);

// The rights script of the address's scheme for this account; Errc::unsupported if it has none.
Result<std::string> rights_script(std::string_view url, Role role, std::string_view account);

// Gives the account this role in the space; Errc::unsupported if the store has no accounts.
Status allow(std::string_view url, Role role, std::string_view account, TimePoint by);

// The findings for the address, in the scheme's order; empty if the scheme has none.
Result<std::vector<Finding>> examine_space(std::string_view url, TimePoint by);

}  // namespace LOCKSET_EXPORT
