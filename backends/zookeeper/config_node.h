// The configuration's node. Every acquire names its version in the step that grants, so that
// none is granted by an older configuration; whoever must be sure that no request under way
// goes through raises the version.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

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
  std::int64_t zxid = 0;     // of the node's last change
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
  // Takes over what a read of the node said.
  Result<std::shared_ptr<const KnownConfig>> take(const Reply& reply);

  // Changes it, from what it is at that moment; `change` may be called again, and returns
  // false if there is nothing to change. `more` goes into the same atomic step, and what of
  // it fails is in `failed`.
  using Change = std::function<bool(StoredConfig&)>;
  Result<std::shared_ptr<const KnownConfig>> change(const Change& change, TimePoint by);

  // A zxid of this store that has been given out already: what comes is greater.
  [[nodiscard]] std::int64_t last_zxid() const noexcept { return last_zxid_; }
  // Any reply's: `ms` is the server's clock then, 0 if that is not known.
  void saw(std::int64_t zxid, std::int64_t ms) noexcept;

  // The server's clock, as far as it is known here, in microseconds.
  [[nodiscard]] std::int64_t server_now_us() const noexcept;
  // Raises the base to the server's clock, so that no stamp that was given before is given
  // again though the store was restored or wiped; and so far that all stamps from now on
  // are at least `least`.
  Status raise_base(std::int64_t least, TimePoint by);

 private:
  const Paths& paths_;
  Sessions& sessions_;
  const std::string& where_;
  mutable std::mutex mutex_;
  std::shared_ptr<const KnownConfig> seen_;
  std::atomic<std::int64_t> last_zxid_ = 0;
  std::atomic<std::int64_t> clock_ahead_us_ = 0;  // the server's, of ours
};

}  // namespace lockset::zookeeper
