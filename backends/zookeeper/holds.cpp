#include "backends/zookeeper/holds.h"

#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace lockset::zookeeper {
namespace {

// How many nodes are read together.
constexpr std::size_t read_together = 1000;

}  // namespace

Result<std::vector<Listed>> HoldList::holds(TimePoint by) {
  const auto failed = [&](int code) { return error_from(code, space_.where, Sent::reading); };
  // The list may still have one of these, and it may be removed and forgotten before it is read.
  const std::set<std::string> over = space_.own.past_deadline();
  std::map<std::string, Listed> read;
  while (true) {
    const Result<std::shared_ptr<Session>> session = space_.sessions.general(by);
    if (!session) return session.error();
    // The list of children is what was live at one moment. The records never change, so only those
    // that came since the last list have to be read.
    const std::string parent = space_.paths.holds();
    const Result<Replies> list = (*session)->run({sync(parent), children(parent)}, by);
    if (!list) return list.error();
    const Reply& listed = (*list)[1];
    if (ends_session(listed.code)) continue;
    if (!listed.ok()) return failed(listed.code);
    std::vector<std::string> unread;
    for (const std::string& token : listed.children) {
      if (!read.contains(token)) unread.push_back(token);
    }
    bool missing = false;
    for (std::size_t at = 0; at < unread.size(); at += read_together) {
      const std::size_t end = std::min(unread.size(), at + read_together);
      std::vector<Request> requests;
      for (std::size_t i = at; i < end; ++i) requests.push_back(get(space_.paths.hold(unread[i])));
      const Result<Replies> replies = (*session)->run(std::move(requests), by);
      if (!replies) return replies.error();
      for (std::size_t i = at; i < end; ++i) {
        const Reply& reply = (*replies)[i - at];
        // It ended after the list was made, so the snapshot is not of one moment.
        missing = missing || reply.code == ZNONODE || ends_session(reply.code);
        if (reply.code == ZNONODE || ends_session(reply.code)) continue;
        if (!reply.ok()) return failed(reply.code);
        std::optional<Record> record = record_from(reply.text);
        if (record) read[unread[i]] = Listed{unread[i], *std::move(record), reply.stat};
      }
    }
    if (missing) continue;
    std::vector<Listed> holds;
    for (const std::string& token : listed.children) {
      const auto found = read.find(token);
      if (found == read.end() || over.contains(token)) continue;
      const std::optional<OwnHolds::Known> own = space_.own.find(token);
      if (!own || own->live()) holds.push_back(std::move(found->second));
    }
    std::sort(holds.begin(), holds.end(),
              [](const Listed& a, const Listed& b) { return a.stamp() < b.stamp(); });
    return holds;
  }
}

Result<std::vector<Listed>> HoldList::waiters(TimePoint by) {
  std::vector<Listed> waiters;
  const Result<std::shared_ptr<Session>> session = space_.sessions.general(by);
  if (!session) return session.error();
  const Result<Replies> queues = (*session)->run({children(space_.paths.queues())}, by);
  if (!queues) return queues.error();
  std::vector<Request> requests;
  for (const std::string& queue : queues->front().children) {
    if (queue == Paths::waiters_part) continue;
    requests.push_back(children(space_.paths.queues() + "/" + queue));
  }
  if (requests.empty()) return waiters;
  const std::vector<Request> asked = requests;
  const Result<Replies> places = (*session)->run(std::move(requests), by);
  if (!places) return places.error();
  std::vector<Request> reads;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    for (const std::string& place : (*places)[i].children) {
      if (holder_of(place)) reads.push_back(get(asked[i].path + "/" + place));
    }
  }
  if (reads.empty()) return waiters;
  const Result<Replies> replies = (*session)->run(std::move(reads), by);
  if (!replies) return replies.error();
  for (const Reply& reply : *replies) {
    std::optional<Record> record = reply.ok() ? record_from(reply.text) : std::nullopt;
    if (record) waiters.push_back(Listed{"", *std::move(record), reply.stat});
  }
  std::sort(waiters.begin(), waiters.end(),
            [](const Listed& a, const Listed& b) { return a.stat.created < b.stat.created; });
  return waiters;
}

}  // namespace lockset::zookeeper
