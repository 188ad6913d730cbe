// The configuration's node. Every acquire names its version in the step that grants, so that no
// grant is made by an older configuration. Raising the version makes sure that no request under way
// succeeds.
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
#include "lockset/stamp.h"

namespace lockset::zookeeper {

struct KnownConfig {
  StoredConfig stored;
  std::int32_t version = 0;  // the node's; not the configuration's own
  std::int32_t settings_version = 0;
  std::int64_t zxid = 0;  // the node's last change
  std::int64_t changed_ms = 0;
  ConnectionNumber read_at = 0;  // as in NameState

  // The node is unchanged since this was read: no other state has the same three values.
  [[nodiscard]] bool is_of(const NodeStat& stat) const noexcept {
    return stat.version == version && stat.changed == zxid && stat.changed_ms == changed_ms;
  }
};

// Thread-safe.
class ConfigNode {
 public:
  ConfigNode(const Paths& paths, Sessions& sessions, const std::string& where)
      : paths_(paths), sessions_(sessions), where_(where) {}

  // The last one that was read; null at first.
  [[nodiscard]] std::shared_ptr<const KnownConfig> seen() const;
  // Reads the present one.
  Result<std::shared_ptr<const KnownConfig>> load(TimePoint by);
  // Requests for both nodes, in an order that makes settings newer if the versions differ: then a
  // step that compares the other node's version fails.
  [[nodiscard]] std::vector<Request> reads() const;
  // Takes over the replies to requests that were sent when the client's last connection was
  // `read_at`.
  Result<std::shared_ptr<const KnownConfig>> take(std::span<const Reply> replies,
                                                  ConnectionNumber read_at);
  // The same for a read that found `known` unchanged.
  std::shared_ptr<const KnownConfig> confirm(const KnownConfig& known, ConnectionNumber read_at);

  // Changes the configuration from its state at that moment; `change` may be called several times,
  // and returns false if there is nothing to change. Later grants have a zxid greater than `zxid`.
  using Change = std::function<bool(StoredConfig& stored, std::int64_t zxid)>;
  Result<std::shared_ptr<const KnownConfig>> change(const Change& change, TimePoint by);

  // A zxid that was assigned already: later ones are greater, unless the store was restored.
  [[nodiscard]] std::int64_t last_zxid() const noexcept { return last_zxid_; }
  // Notes the values of any reply: `ms` is the server's clock at that time, 0 if it is not known.
  void saw(std::int64_t zxid, std::int64_t ms) noexcept;

  // The server's clock in microseconds, as far as this client knows it.
  [[nodiscard]] std::int64_t server_now_us() const noexcept;
  // Raises the base to the server's clock, so that no earlier stamp is given again although the
  // store was restored or wiped; and so far that all later stamps are at least `least`.
  Status raise_base(std::int64_t least, TimePoint by);
  // For a step that draws a stamp from `known`: the same configuration, or the present one with a
  // raised base, so that the stamp is at least `least` and not far behind the server's clock. An
  // error says that nothing else was sent: what it tried is never in doubt.
  Result<std::shared_ptr<const KnownConfig>> for_stamp(std::shared_ptr<const KnownConfig> known,
                                                       Stamp least, TimePoint by);
  // A stamp that was drawn, at `ms` by the server's clock, is not as promised: the store was
  // restored, or this host's clock is wrong, and stamps that were given before might come again.
  [[nodiscard]] static bool too_low(Stamp stamp, std::int64_t ms, Stamp least) noexcept;
  // The version after `last`: from the server's clock, so that none comes again in a store that was
  // restored or wiped.
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
  std::atomic<std::int64_t> clock_ahead_us_ = 0;  // how far the server's clock is ahead of ours
};

}  // namespace lockset::zookeeper
