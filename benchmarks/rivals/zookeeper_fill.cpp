#include "benchmarks/rivals/zookeeper_fill.h"

#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "backends/zookeeper/store.h"
#include "lockset/lockset.h"

namespace lockset::bench {
namespace {

using namespace zookeeper;

constexpr Duration lease = std::chrono::hours(1);
constexpr Duration patience = std::chrono::seconds(30);
// How many holds are requested together, and how many names are removed together.
constexpr std::uint64_t chunk = 500;

Error error_of(int code, const OpenSpace& space) {
  return error_from(code, space.where, Sent::change);
}

template <class Value>
Value value_of(Result<Value> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return *std::move(result);
}

// The holds that fill() made in one space.
class Filling {
 public:
  explicit Filling(const Url& url)
      : opened_(value_of(OpenSpace::open(value_of(parse_address(url)), by()))), space_(*opened_) {}

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

  void add(std::uint64_t count) {
    config_ = value_of(space_.config.load(by()));
    while (count_ < count) add_some(std::min(chunk, count - count_));
  }

  // Ends all holds, and leaves no trace of their names.
  void clear() {
    sessions_.clear();
    for (std::uint64_t at = 0; at < count_; at += chunk) {
      remove_names(at, std::min(at + chunk, count_));
    }
    count_ = 0;
  }

 private:
  [[nodiscard]] static TimePoint by() { return BootClock::now() + patience; }
  [[nodiscard]] static std::string name(std::uint64_t number) {
    return "filler-" + std::to_string(number);
  }

  // A session with room for this many more bytes of paths, as in Sessions.
  Session& session(std::size_t path_bytes) {
    if (sessions_.empty() || used_ + path_bytes > most_path_bytes) {
      sessions_.push_back(value_of(Session::open(space_.options, lease + lease / 2)));
      used_ = 0;
      if (const Status ready = sessions_.back()->ready(by()); !ready) {
        throw std::runtime_error(ready.error().message);
      }
    }
    used_ += path_bytes;
    return *sessions_.back();
  }

  void add_some(std::uint64_t some) {
    std::vector<LockRequest> items;
    std::vector<Request> looks{sync(space_.paths.root())};
    std::vector<std::string> tokens;
    std::size_t path_bytes = 0;
    for (std::uint64_t i = 0; i < some; ++i) {
      items.push_back({name(count_ + i), Mode::write});
      tokens.push_back(Token::random().hex());
      looks.push_back(exists(space_.paths.name(items.back().name)));
      path_bytes += space_.paths.hold(tokens.back()).size() + 4 +
                    space_.paths.holder(items.back(), tokens.back()).size() + 4;
    }
    Session& session = this->session(path_bytes);
    const Replies found = value_of(session.run(std::move(looks), by()));
    std::vector<Request> grants;
    for (std::uint64_t i = 0; i < some; ++i) {
      grants.push_back(grant(session, items[i], tokens[i], found[i + 1]));
    }
    for (const Reply& reply : value_of(session.run(std::move(grants), by()))) {
      if (!reply.ok()) throw std::runtime_error(error_of(reply.code, space_).message);
    }
    count_ += some;
  }

  // The step of a real acquire (Acquire::grant_request).
  Request grant(const Session& session, const LockRequest& item, const std::string& token,
                const Reply& found) {
    Record record;
    record.base = config_->stored.base;
    record.lease = std::min(lease, safe_part(session.timeout()));
    record.owner = {.app = "filler", .instance = "filler", .epoch = 0, .label = "filler"};
    record.items = {item};
    const std::string path = space_.paths.name(item.name);
    std::vector<Request> parts{check(space_.paths.config(), config_->version)};
    if (!found.ok()) parts.push_back(create(path, "", Lasting::persistent));
    parts.push_back(set(path, "", found.ok() ? found.stat.version : 0));
    parts.push_back(create(space_.paths.holder(item, token), "", Lasting::ephemeral));
    parts.push_back(create(space_.paths.hold(token), to_text(record), Lasting::ephemeral));
    return multi(std::move(parts));
  }

  // As housekeeping does: together with the configuration's node, whose version every client
  // checks.
  void remove_names(std::uint64_t from, std::uint64_t to) {
    config_ = value_of(space_.config.load(by()));
    const std::shared_ptr<Session> general = value_of(space_.sessions.general(by()));
    std::vector<Request> looks{sync(space_.paths.root())};
    for (std::uint64_t i = from; i < to; ++i) looks.push_back(exists(space_.paths.name(name(i))));
    const Replies found = value_of(general->run(std::move(looks), by()));
    std::vector<Request> steps{
        set(space_.paths.config(), to_text(config_->stored), config_->version)};
    for (std::uint64_t i = from; i < to; ++i) {
      const Reply& reply = found[i - from + 1];
      if (!reply.ok()) continue;
      steps.push_back(remove(space_.paths.name(name(i)), reply.stat.version));
    }
    const Replies done = value_of(general->run({multi(std::move(steps))}, by()));
    if (!done.front().ok()) {
      throw std::runtime_error(error_of(done.front().code, space_).message);
    }
  }

  const std::unique_ptr<OpenSpace> opened_;
  OpenSpace& space_;
  std::shared_ptr<const KnownConfig> config_;
  std::vector<std::shared_ptr<Session>> sessions_;
  std::size_t used_ = 0;  // bytes of paths in the last one
  std::uint64_t count_ = 0;
};

}  // namespace

void zookeeper_fill(const Url& url, std::uint64_t count) {
  static std::map<std::string, std::unique_ptr<Filling>> fillings;
  const auto found = fillings.find(url.text);
  if (found == fillings.end() && count == 0) return;
  std::unique_ptr<Filling>& filling = found == fillings.end() ? fillings[url.text] : found->second;
  if (!filling) filling = std::make_unique<Filling>(url);
  if (count < filling->count()) filling->clear();
  filling->add(count);
  if (count == 0) fillings.erase(url.text);
}

}  // namespace lockset::bench
