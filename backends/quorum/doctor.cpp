#include "backends/quorum/doctor.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "backends/findings.h"
#include "backends/quorum/schema.h"

namespace lockset::quorum {
namespace {

using findings::Level;

// For one of several: it must not use up the time of the others.
TimePoint share(TimePoint by, std::size_t left) {
  const TimePoint now = BootClock::now();
  return by <= now ? by : now + (by - now) / static_cast<int>(left);
}

void agreement(const View& view, std::vector<Finding>& all) {
  std::optional<std::size_t> first;
  for (std::size_t seat = 0; seat < view.seats.size(); ++seat) {
    if (!view.seats[seat].counts) continue;
    if (!first) {
      first = seat;
      continue;
    }
    const SpaceConfig& one = view.seats[*first].read->config;
    const SpaceConfig& other = view.seats[seat].read->config;
    if (one.permits == other.permits && one.max_lease == other.max_lease) continue;
    all.push_back(findings::warning(
        "configuration", "nodes " + std::to_string(*first + 1) + " and " +
                             std::to_string(seat + 1) +
                             " differ, so the lower permits and the shorter longest lease count: "
                             "make the last change of the configuration again"));
    return;
  }
  all.push_back(findings::good("configuration", "the same in all nodes that count"));
}

}  // namespace

Result<std::vector<Finding>> examine(const Addresses& addresses, TimePoint by) {
  std::vector<Finding> all;
  const std::size_t count = addresses.of.size();
  std::vector<std::optional<NodeConfig>> configs(count);
  bool no_space = false;
  for (std::size_t seat = 0; seat < count; ++seat) {
    const std::string name = "node " + std::to_string(seat + 1);
    const TimePoint until = share(by, count - seat);
    Result<std::vector<Finding>> found = examine_space(addresses.of[seat], until);
    if (!found) {
      all.push_back(findings::warning(
          name, node_name(seat, addresses.of[seat]) + " can't be asked: " + found.error().message));
      continue;
    }
    for (Finding& each : *found) {
      each.subject = name + ": " + each.subject;
      no_space = no_space || each.no_space;
      all.push_back(std::move(each));
    }
    const Result<std::unique_ptr<Backend>> store = open_backend(addresses.of[seat], until);
    const Result<NodeConfig> read = store ? read_node(**store, until) : store.error();
    if (read) {
      configs[seat] = *read;
    } else if (!no_space) {
      all.push_back(findings::warning(name, read.error().message));
    }
  }
  const View view = put_together(configs);
  std::size_t counting = 0;
  for (std::size_t seat = 0; seat < count; ++seat) {
    if (view.seats[seat].counts) ++counting;
    if (view.seats[seat].trouble.empty()) continue;
    all.push_back(findings::warning("node " + std::to_string(seat + 1),
                                    "does not count: " + view.seats[seat].trouble));
  }
  const std::string text = std::to_string(counting) + " of " + std::to_string(count) +
                           " nodes count; " + std::to_string(view.majority()) + " are needed";
  all.push_back(findings::good_if(counting == count,
                                  counting < view.majority() ? Level::unsafe : Level::warning,
                                  "majority", text, text));
  if (counting > 0) agreement(view, all);
  return all;
}

}  // namespace lockset::quorum
