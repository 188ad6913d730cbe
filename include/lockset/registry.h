// The backends that this build has, by the scheme of their addresses.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "lockset/backend.h"
#include "lockset/url.h"

namespace lockset {

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
};

// In a fixed order. The list lives for ever.
std::span<const Scheme> builtin_schemes() noexcept;

// The backend for an address. Errc::invalid, naming the known schemes, for an
// unknown one.
Result<std::unique_ptr<Backend>> open_backend(std::string_view url, TimePoint by);

// Runs the init of the address's scheme.
Status init_space(std::string_view url, TimePoint by);

}  // namespace lockset
