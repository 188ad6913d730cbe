// The traces of observed names: which write grant was the last one. Semantics 27, ADR 0067.
//
// A trace is a child of its name's node, so whoever reads who holds a name sees that it has one.
// The step that grants a write changes it. To make or remove a trace raises the name's version: a
// grant that does not know of it fails.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "backends/zookeeper/store.h"
#include "lockset/backend.h"

namespace lockset::zookeeper {

// A trace as its node was read.
struct SeenTrace {
  Stamp last_write;
  std::optional<std::string> label{};  // unset: nothing was written since it was made
  std::int64_t changed_ms = 0;         // by the server's clock
};

// Unset: there is none, or its content is not Lockset's.
std::optional<SeenTrace> seen_trace(const Reply& reply);
// What the last write in a trace means by this configuration.
Stamp value_of(Stamp last_write, const StoredConfig& config);
// The same for the whole trace, but for Trace::being_written.
Trace trace_of(const SeenTrace& seen, const StoredConfig& config, std::int64_t now_us);

// Thread-safe.
class Traces {
 public:
  explicit Traces(OpenSpace& space) : space_(space) {}

  // As Backend::observe. Stamps that it draws are at least `least`.
  Result<ObserveOutcome> observe(const ObserveRequest& request, Stamp least);
  // As Backend::sweep_traces.
  Result<std::size_t> sweep(Duration unobserved, TimePoint by);

 private:
  OpenSpace& space_;
  std::mutex mutex_;
  std::string from_;  // where the next sweep continues
};

}  // namespace lockset::zookeeper
