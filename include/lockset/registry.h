// The backends that this build has, by the scheme of their addresses.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lockset/backend.h"
#include "lockset/url.h"

namespace lockset {

// What `lockset doctor` found out about a store.
struct Finding {
  enum class Level : std::uint8_t {
    good,     // as it should be
    warning,  // works; weakens something that `text` names
    unsafe,   // breaks a promise: open refuses such a store
  };
  Level level = Level::good;
  std::string subject;  // the setting or the thing: "synchronous_commit"
  std::string text;     // one line: what was found and, unless good, the remedy
  // There is no lock space yet: opening would make one, or say that there is none.
  bool no_space = false;
};

// A plain list entry; there is no self-registration (docs/adr/0005).
struct Scheme {
  std::string_view name;     // "sqlite"
  std::string_view example;  // "sqlite:/var/lib/jobs/locks.db"

  // Connects to an existing space (embedded stores make a missing one). Returns by
  // `by`. Errc::invalid for an address that can't be meant, Errc::misconfigured for
  // a store that is not fit or not initialised, Errc::unavailable otherwise.
  Result<std::unique_ptr<Backend>> (*open)(const Url& url, TimePoint by);

  // Makes the space, or brings an older one up to date; harmless when there is
  // nothing to do. A person runs it, by `lockset init`.
  Status (*init)(const Url& url, TimePoint by);

  // What init would do, for a person to read and run by other means: SQL, ending in a
  // newline. Connects to nothing. Null where there is nothing to print.
  Result<std::string> (*init_script)(const Url& url) = nullptr;

  // Looks at the store's settings and at what stands between it and us, without
  // changing anything. An error only when it can't be asked at all. Null where there is
  // nothing to look at.
  Result<std::vector<Finding>> (*examine)(const Url& url, TimePoint by) = nullptr;

  // Another name of the scheme, told apart by these functions: "rediss", with TLS. "" for
  // none.
  std::string_view also = {};
};

// In a fixed order. The list lives for ever.
std::span<const Scheme> builtin_schemes() noexcept;

// The backend for an address. Errc::invalid, naming the known schemes, for an
// unknown one.
Result<std::unique_ptr<Backend>> open_backend(std::string_view url, TimePoint by);

// Runs the init of the address's scheme.
Status init_space(std::string_view url, TimePoint by);

// The init script of the address's scheme; Errc::unsupported where it has none.
Result<std::string> init_script(std::string_view url);

// The findings for the address, in the scheme's order; empty where it has none.
Result<std::vector<Finding>> examine_space(std::string_view url, TimePoint by);

}  // namespace lockset
