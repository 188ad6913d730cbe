// Removes the nodes of names that nobody asks for any more.
#pragma once

#include <functional>
#include <mutex>
#include <set>
#include <span>
#include <string>

#include "backends/zookeeper/store.h"

namespace lockset::zookeeper {

// Thread-safe.
class Housekeeping {
 public:
  explicit Housekeeping(OpenSpace& space) : space_(space) {}

  // Removes some names that have been idle for `age`; it runs rarely, because it has to list all
  // names.
  Status run(TimePoint by);
  // The same at once. Returns the number of names removed.
  Result<std::size_t> collect(Duration age, TimePoint by);

 private:
  [[nodiscard]] Result<std::set<std::string>> idle_shares(
      std::span<const std::string> parts, const Replies& found,
      const std::function<bool(const Reply&)>& is_old, Session& session, TimePoint by) const;

  OpenSpace& space_;
  std::mutex mutex_;
  TimePoint next_run_ = BootClock::now() + first_run;
  std::string from_;  // where the next run continues

  static constexpr Duration first_run = std::chrono::minutes(10);
};

}  // namespace lockset::zookeeper
