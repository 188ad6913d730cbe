#include "backends/zookeeper/housekeeping.h"

#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

namespace lockset::zookeeper {
namespace {

constexpr Duration interval = std::chrono::minutes(10);
constexpr Duration usual_age = std::chrono::hours(1);
// For one run: how many names it looks at, and how many it removes together.
constexpr std::size_t most_looks = 2000;
constexpr std::size_t most_removed = 500;
constexpr std::size_t most_split = 100;

}  // namespace

Status Housekeeping::run(TimePoint by) {
  {
    const std::lock_guard lock(mutex_);
    if (BootClock::now() < next_run_) return {};
    next_run_ = BootClock::now() + interval;
  }
  const Result<std::size_t> removed = collect(usual_age, by);
  return removed ? Status() : removed.error();
}

// Those of the names that have shares and nothing else, and whose shares are old, too: a reader
// changes no more than a share.
Result<std::set<std::string>> Housekeeping::idle_shares(
    std::span<const std::string> parts, const Replies& found,
    const std::function<bool(const Reply&)>& is_old, Session& session, TimePoint by) const {
  std::vector<std::string> perhaps;
  std::vector<Request> requests;
  for (std::size_t i = 0; i < parts.size() && perhaps.size() < most_split; ++i) {
    if (!is_old(found[i]) || found[i].stat.children != 1) continue;
    perhaps.push_back(parts[i]);
    const std::string shares = below(space_.paths.names() + "/" + parts[i], Paths::shares_part);
    for (std::size_t share = 0; share < share_count; ++share) {
      requests.push_back(exists(below(shares, share_part(share))));
    }
  }
  std::set<std::string> idle;
  if (perhaps.empty()) return idle;
  const Result<Replies> replies = session.run(std::move(requests), by);
  if (!replies) return replies.error();
  for (std::size_t i = 0; i < perhaps.size(); ++i) {
    const auto shares = std::span(*replies).subspan(i * share_count, share_count);
    if (std::all_of(shares.begin(), shares.end(), is_old)) idle.insert(perhaps[i]);
  }
  return idle;
}

Result<std::size_t> Housekeeping::collect(Duration age, TimePoint by) {
  const auto failed = [&](int code, Sent sent) { return error_from(code, space_.where, sent); };
  const std::lock_guard lock(mutex_);
  const Result<std::shared_ptr<const KnownConfig>> config = space_.config.load(by);
  if (!config) return config.error();
  const Result<std::shared_ptr<Session>> session = space_.sessions.general(by);
  if (!session) return session.error();
  Result<Replies> list = (*session)->run({children(space_.paths.names())}, by);
  if (!list) return list.error();
  if (!list->front().ok()) return failed(list->front().code, Sent::reading);
  std::vector<std::string>& parts = list->front().children;
  std::sort(parts.begin(), parts.end());
  const auto begin = std::upper_bound(parts.begin(), parts.end(), from_);
  const auto end = begin + std::min<std::ptrdiff_t>(parts.end() - begin, most_looks);
  from_ = end == parts.end() ? std::string() : *std::prev(end);
  if (begin == end) return std::size_t{0};

  std::vector<Request> requests;
  for (auto part = begin; part != end; ++part) {
    requests.push_back(exists(space_.paths.names() + "/" + *part));
  }
  const Result<Replies> replies = (*session)->run(std::move(requests), by);
  if (!replies) return replies.error();
  const std::int64_t oldest_ms =
      (space_.config.server_now_us() -
       std::chrono::duration_cast<std::chrono::microseconds>(age).count()) /
      1000;
  const auto is_old = [&](const Reply& reply) {
    return reply.ok() && reply.stat.changed_ms <= oldest_ms;
  };
  const Result<std::set<std::string>> split =
      idle_shares({begin, end}, *replies, is_old, **session, by);
  if (!split) return split.error();
  const auto is_idle = [&](const std::string& part, const Reply& reply) {
    return is_old(reply) && (reply.stat.children == 0 || split->contains(part));
  };
  // Somebody may be in line for these. Who comes into the line later does not change the name, so
  // the queue is removed in the same step: that fails if somebody is there.
  std::vector<std::string> marked;
  std::set<std::string> without_queue;
  std::vector<Request> lines;
  for (auto part = begin; part != end; ++part) {
    const Reply& reply = (*replies)[static_cast<std::size_t>(part - begin)];
    if (!is_idle(*part, reply) || reply.stat.data_bytes == 0) continue;
    marked.push_back(*part);
    lines.push_back(exists(space_.paths.queues() + "/" + *part));
  }
  std::set<std::string> waited_for;
  if (!lines.empty()) {
    const Result<Replies> found = (*session)->run(std::move(lines), by);
    if (!found) return found.error();
    for (std::size_t i = 0; i < marked.size(); ++i) {
      const Reply& reply = (*found)[i];
      const bool empty = reply.code == ZNONODE || (reply.ok() && reply.stat.children == 0);
      if (!empty) waited_for.insert(marked[i]);
      if (reply.code == ZNONODE) without_queue.insert(marked[i]);
    }
  }
  std::vector<Request> steps;
  // No version comes again: the configuration's version refuses any client that still has the
  // version of a removed name (ADR 0026).
  steps.push_back(set(space_.paths.config(), to_text((*config)->stored), (*config)->version));
  std::size_t bytes = weight(steps.front());
  std::vector<Request> queues;
  std::size_t count = 0;
  for (auto part = begin; part != end && count < most_removed; ++part) {
    const Reply& reply = (*replies)[static_cast<std::size_t>(part - begin)];
    if (!is_idle(*part, reply) || waited_for.contains(*part)) continue;
    const std::string queue = space_.paths.queues() + "/" + *part;
    const std::string path = space_.paths.names() + "/" + *part;
    std::vector<Request> name;
    if (split->contains(*part)) {
      const std::string shares = below(path, Paths::shares_part);
      for (std::size_t share = 0; share < share_count; ++share) {
        name.push_back(remove(below(shares, share_part(share))));
      }
      name.push_back(remove(shares));
    }
    name.push_back(remove(path, reply.stat.version));
    if (reply.stat.data_bytes != 0) {
      if (without_queue.contains(*part)) name.push_back(create(queue, "", Lasting::persistent));
      name.push_back(remove(queue));
    } else {
      queues.push_back(remove(queue));
    }
    for (const Request& step : name) bytes += weight(step);
    if (bytes > most_weight) break;
    std::move(name.begin(), name.end(), std::back_inserter(steps));
    ++count;
  }
  if (count == 0) return std::size_t{0};
  // If a queue is not empty, or not there, that does not matter.
  static_cast<void>((*session)->run(std::move(queues), by).ok());
  const Result<Replies> done = (*session)->run({multi(std::move(steps))}, by);
  if (!done) return done.error();
  const int code = done->front().code;
  // Another client took one of the names meanwhile, or changed the configuration: a later run
  // removes them.
  if (code == ZBADVERSION || code == ZNOTEMPTY || code == ZNONODE || code == ZNODEEXISTS) {
    return std::size_t{0};
  }
  if (code != ZOK) return failed(code, Sent::change);
  return count;
}

}  // namespace lockset::zookeeper
