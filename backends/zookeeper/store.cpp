#include "backends/zookeeper/store.h"

#include <utility>

#include "backends/zookeeper/records.h"

namespace lockset::zookeeper {

Result<std::string> OpenSpace::read_generation(Sessions& sessions, const Options& options,
                                               TimePoint by) {
  const Result<std::shared_ptr<Session>> session = sessions.general(by);
  if (!session) return session.error();
  const std::string path = head_path(options.root());
  const Result<Replies> replies = (*session)->run({sync(path), get(path)}, by);
  if (!replies) return replies.error();
  const Reply& reply = replies->back();
  if (!reply.ok()) return error_from(reply.code, options.shown(), Sent::reading);
  if (std::optional<std::string> generation = generation_from(reply.text)) {
    return *std::move(generation);
  }
  return Error{Errc::misconfigured, options.shown() +
                                        ": the lock space is of another version of Lockset: use "
                                        "that one, or run this version's lockset init"};
}

Result<std::string> OpenSpace::generation_now(TimePoint by) {
  return read_generation(sessions, options, by);
}

Result<std::unique_ptr<OpenSpace>> OpenSpace::open(const Options& options, TimePoint by) {
  auto sessions = std::make_unique<Sessions>(options);
  Result<std::string> generation = read_generation(*sessions, options, by);
  if (!generation) return generation.error();
  std::unique_ptr<OpenSpace> space(
      new OpenSpace(options, *std::move(generation), std::move(sessions)));
  const Result<std::shared_ptr<Session>> session = space->sessions.general(by);
  if (!session) return session.error();
  // Holds granted after the breaks were read need not be looked for at their first renewal.
  const ConnectionNumber read_at = space->sessions.connections();
  std::vector<Request> requests = space->config.reads();
  requests.push_back(exists(space->paths.holds()));
  const Result<Replies> replies = (*session)->run(std::move(requests), by);
  if (!replies) return replies.error();
  const Reply& holds = replies->back();
  if (const auto config = space->config.take(std::span(*replies).first(2), read_at); !config) {
    return config.error();
  }
  if (holds.ok()) space->own.saw(holds.stat.changed, read_at);
  return space;
}

}  // namespace lockset::zookeeper
