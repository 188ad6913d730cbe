#include "backends/memcached/doctor.h"

#include <cstdlib>
#include <map>
#include <string>

#include "backends/findings.h"
#include "backends/memcached/connection.h"
#include "backends/memcached/store.h"
#include "backends/server/lanes.h"
#include "backends/server/server_clock.h"

namespace lockset::memcached {
namespace {

using namespace findings;

class Stats {
 public:
  explicit Stats(std::map<std::string, std::string> stats) : stats_(std::move(stats)) {}
  [[nodiscard]] std::string get(const std::string& name) const {
    const auto one = stats_.find(name);
    return one == stats_.end() ? std::string() : one->second;
  }
  [[nodiscard]] long number(const std::string& name) const {
    return std::strtol(get(name).c_str(), nullptr, 10);
  }

 private:
  std::map<std::string, std::string> stats_;
};

std::vector<Finding> about_server(const Stats& stats, const Stats& settings,
                                  const Options& options) {
  std::vector<Finding> all;
  all.push_back(good("version", "memcached " + stats.get("version")));
  all.push_back(encryption(false, false,
                           "none: memcached locks are for a trusted network; put a tunnel before "
                           "the server otherwise"));
  all.push_back(warning("durability",
                        "none: after a restart the space is gone; a program that has it open puts "
                        "it back, and nothing is granted then for the longest lease"));
  all.push_back(good_if(settings.get("evictions") == "off", Level::warning, "evictions",
                        "off: nothing is thrown away (-M)",
                        "on: a full server may throw the space away, which costs a quarantine; "
                        "start it with -M, and keep no other data in it"));
  if (const long evicted = stats.number("evictions"); evicted > 0) {
    all.push_back(warning("evictions", std::to_string(evicted) +
                                           " items were thrown away since the server started: a "
                                           "lock space may have been among them"));
  }
  all.push_back(good_if(settings.get("flush_enabled") == "no", Level::warning, "flush_all",
                        "off (-F)",
                        "on: whoever says flush_all ends all lock spaces; start it with -F"));
  all.push_back(room("maxconns", stats.number("curr_connections"), settings.number("maxconns"),
                     static_cast<long>(server::most_connections(options.pool, false))));
  return all;
}

Result<Inspection> look_at(const Options& options, TimePoint by) {
  Store store(options);
  if (Status fit = store.check(by); !fit) return fit.error();
  return store.run<Inspection>({.by = by},
                               [](Step& step) { return Result<Inspection>(step.inspect({})); });
}

}  // namespace

Result<std::vector<Finding>> examine(const Options& options, TimePoint by) {
  const Result<std::unique_ptr<Connection>> connection = Connection::connect(options, by);
  if (!connection) return connection.error();
  const std::int64_t asked = server::calendar_us();
  const auto stats = (*connection)->stats("", by);
  if (!stats) return stats.error();
  const std::int64_t answered = server::calendar_us();
  const auto settings = (*connection)->stats("settings", by);
  if (!settings) return settings.error();
  std::vector<Finding> all = about_server(Stats(*stats), Stats(*settings), options);
  // It counts whole seconds.
  const std::int64_t second = Stats(*stats).number("time") * 1'000'000;
  all.push_back(server::examine_clock(second + 500'000, asked, answered));
  if (Status fit = refuse_unsafe(*settings, options); !fit) {
    all.push_back(unsafe("settings", fit.error().message));
    return all;
  }
  const Result<Inspection> space = look_at(options, by);
  if (!space && space.error().code == Errc::misconfigured) {
    all.push_back(no_space(Level::unsafe, space.error().message));
  } else if (!space) {
    return space.error();
  } else {
    all.push_back(good(
        "space", options.space + ", version " + std::string(schema_version) + " of the schema"));
    if (space->quarantine) {
      all.push_back(warning(
          "quarantine",
          "the space was lost, may have been, or is new: no new grants for another " +
              format_duration(std::chrono::ceil<std::chrono::seconds>(*space->quarantine))));
    }
  }
  return all;
}

}  // namespace lockset::memcached
