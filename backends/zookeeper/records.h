// The content of the nodes: lines of text, so that a person with zkCli.sh can read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lockset/inspection.h"
#include "lockset/space_config.h"

namespace lockset::zookeeper {

// A hold, in ROOT/holds/TOKEN; never changed. A waiter, in ROOT/queues/NAME, the same.
struct Record {
  std::int64_t base = 0;  // the stamp is this + the zxid that created the node
  Duration lease{};       // for a hold: as granted
  Owner owner;
  std::vector<LockRequest> items;
};

std::string to_text(const Record& record);
std::optional<Record> record_from(std::string_view text);

// The last write grant on a name, in ROOT/names/NAME/trace.
struct TraceRecord {
  std::int64_t base = 0;  // the stamp is this + the zxid of the node's last change
  // Of who was granted it. Unset: the stamp was drawn when the trace was made.
  std::optional<std::string> label{};
};

std::string to_text(const TraceRecord& trace);
std::optional<TraceRecord> trace_from(std::string_view text);

// Who may do what in the space: "USER:DIGEST" of the digest scheme. All empty: everybody with the
// rights of init.
struct Rights {
  std::vector<std::string> administrators;
  std::vector<std::string> operators;
  std::vector<std::string> programs;

  [[nodiscard]] bool given() const noexcept { return !administrators.empty(); }
};

// Spaces since ADR 0080: whoever comes into a line does not always raise the version of the name,
// and readers may raise that of a share alone. Spaces before have no number.
inline constexpr int newest_layout = 3;

// The space's configuration, in two nodes.
struct StoredConfig {
  SpaceConfig config;
  Rights rights;
  // Stamps of later grants are this + their zxid. Only grows.
  std::int64_t base = 0;
  // What its programs have to know. Programs of an older layout can't read its number, and grant
  // nothing.
  int layout = newest_layout;
  // Names may have traces. Programs that know no traces can't read this, and grant nothing then.
  bool traces = false;
};

// The text of the space's head node. Another layout of the space gets another number there.
std::string generation_text(std::string_view generation);
// Unset for another layout.
std::optional<std::string> generation_from(std::string_view text);

// The text of ROOT/config: version, base, epochs, and whether there are traces.
std::string to_text(const StoredConfig& stored);
// The text of ROOT/settings: everything else.
std::string settings_text(const StoredConfig& stored);
// Reads both, also of the layout before: 2. Unset if no program version with our layout can have
// written it.
std::optional<StoredConfig> config_from(std::string_view text, std::string_view settings);
// For version 1, which had everything in one node.
std::optional<StoredConfig> config_from_version_1(std::string_view text);

}  // namespace lockset::zookeeper
