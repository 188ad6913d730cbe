// The configuration's node. Every acquire names its version in the step that grants, so that
// none is granted by an older configuration; whoever must be sure that no request under way
// goes through raises the version.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "backends/zookeeper/paths.h"
#include "backends/zookeeper/records.h"
#include "backends/zookeeper/sessions.h"
#include "lockset/clock.h"
#include "lockset/error.h"
#include "lockset/space_config.h"

namespace lockset::zookeeper {

struct KnownConfig {
  StoredConfig stored;
  std::int32_t version = 0;  // of the node; not the configuration's own
  std::int32_t settings_version = 0;
  std::int64_t zxid = 0;  // of the node's last change
  std::int64_t changed_ms = 0;
  ConnectionNumber read_at = 0;  // as NameState has it

  // The node is what it was when this was read: no other change has all three.
  [[nodiscard]] bool is_of(const NodeStat& stat) const noexcept {
    return stat.version == version && stat.changed == zxid && stat.changed_ms == changed_ms;
  }
};

// Thread-safe.
class ConfigNode {
 public:
  ConfigNode(const Paths& paths, Sessions& sessions, const std::string& where)
      : paths_(paths), sessions_(sessions), where_(where) {}

  // The last that was seen; null at first.
  [[nodiscard]] std::shared_ptr<const KnownConfig> seen() const;
  // As it is now.
  Result<std::shared_ptr<const KnownConfig>> load(TimePoint by);
  // Asks for both nodes, so that settings of another version than the other's are newer: then a
  // step that compares that one's fails.
  [[nodiscard]] std::vector<Request> reads() const;
  // Takes over what they said that were sent when the client's last connection was `read_at`.
  Result<std::shared_ptr<const KnownConfig>> take(std::span<const Reply> replies,
                                                  ConnectionNumber read_at);
  // The same for a read that found `known` unchanged.
  std::shared_ptr<const KnownConfig> confirm(const KnownConfig& known, ConnectionNumber read_at);

  // Changes it, from what it is at that moment; `change` may be called again, and returns
  // false if there is nothing to change. What is granted later has a greater zxid than `zxid`.
  using Change = std::function<bool(StoredConfig& stored, std::int64_t zxid)>;
  Result<std::shared_ptr<const KnownConfig>> change(const Change& change, TimePoint by);

  // A zxid that has been given out already: what comes is greater, unless the store was put back.
  [[nodiscard]] std::int64_t last_zxid() const noexcept { return last_zxid_; }
  // Any reply's: `ms` is the server's clock then, 0 if that is not known.
  void saw(std::int64_t zxid, std::int64_t ms) noexcept;

  // The server's clock, as far as it is known here, in microseconds.
  [[nodiscard]] std::int64_t server_now_us() const noexcept;
  // Raises the base to the server's clock, so that no stamp that was given before is given
  // again though the store was restored or wiped; and so far that all stamps from now on
  // are at least `least`.
  Status raise_base(std::int64_t least, TimePoint by);
  // The version after `last`: from the server's clock, so that none comes again in a store that
  // was put back or wiped.
  [[nodiscard]] std::int64_t version_after(std::int64_t last) const noexcept {
    return std::max(last + 1, server_now_us());
  }

 private:
  std::shared_ptr<const KnownConfig> keep(KnownConfig config);

  const Paths& paths_;
  Sessions& sessions_;
  const std::string& where_;
  mutable std::mutex mutex_;
  std::shared_ptr<const KnownConfig> seen_;
  std::atomic<std::int64_t> last_zxid_ = 0;
  std::atomic<std::int64_t> clock_ahead_us_ = 0;  // the server's, of ours
};

}  // namespace lockset::zookeeper
