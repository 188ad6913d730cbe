#include "backends/zookeeper/renew.h"

#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <iterator>

namespace lockset::zookeeper {

// The write proves that the session lives where the majority of the servers is. (A leader that was
// deposed while it stood still can answer reads, and does not know that.) What is read after it in
// the same connection is no older. A hold lives if it was not broken since it was granted or seen,
// and nothing was asked for that takes its place. The others are requested one by one: those known
// to be in doubt in the same round trip, those that came into doubt since the last time in a second
// one.
Result<Renewals::Leases> Renewals::renew(const std::shared_ptr<Session>& session,
                                         const std::vector<std::string>& tokens, TimePoint by) {
  Beat& beat = session->beat();
  const std::string path = space_.paths.renewals() + "/" + beat.part();
  while (true) {
    const std::vector<std::string> asked = space_.own.doubtful(tokens, session->connection());
    const bool made = beat.made();
    const std::int32_t before = beat.version();
    const ConnectionNumber read_at = space_.sessions.connections();
    std::vector<Request> requests{
        made ? set(path, "", any_version) : create(path, "", Lasting::ephemeral),
        exists(space_.paths.holds())};
    for (const std::string& token : asked) requests.push_back(exists(space_.paths.hold(token)));
    const Result<std::optional<Answers>> first = ask(*session, requests, by);
    if (!first) return first.error();
    if (!*first) return Leases();
    const Replies& replies = (*first)->replies;
    const Result<Beaten> beaten = judge_write(beat, made, before, replies[0], replies[1]);
    if (!beaten) return beaten.error();
    if (*beaten == Beaten::again) continue;
    if (*beaten == Beaten::gone_back) {
      give_up(session);
      return Leases();
    }
    const Breaks breaks = replies[1].stat.changed;
    std::set<std::string> lost;
    if (Status judged = judge(*session, asked, std::span(replies).subspan(2), breaks, lost);
        !judged) {
      return judged.error();
    }
    space_.own.saw(breaks, read_at);
    std::vector<std::string> rest;
    std::set_difference(tokens.begin(), tokens.end(), asked.begin(), asked.end(),
                        std::back_inserter(rest));
    const ConnectionNumber connection = (*first)->connection();
    rest = space_.own.doubtful(rest, breaks, connection);
    if (!rest.empty()) {
      requests.clear();
      for (const std::string& token : rest) requests.push_back(exists(space_.paths.hold(token)));
      const Result<std::optional<Answers>> second = ask(*session, requests, by);
      if (!second) return second.error();
      if (!*second) return Leases();
      if ((*second)->connection() != connection) continue;
      if (Status judged = judge(*session, rest, (*second)->replies, breaks, lost); !judged) {
        return judged.error();
      }
    }
    Leases leases;
    for (const std::string& token : tokens) {
      if (lost.contains(token)) continue;
      if (const std::optional<Duration> lease = space_.own.renew(token, (*first)->sent)) {
        leases.emplace_back(token, *lease);
      }
    }
    return leases;
  }
}

// Repeats the requests until `by`, which does no harm.
Result<std::optional<Renewals::Answers>> Renewals::ask(Session& session,
                                                       const std::vector<Request>& requests,
                                                       TimePoint by) {
  while (true) {
    Answers answers;
    answers.sent = BootClock::now();
    Result<Replies> replies = session.run(requests, by);
    if (!replies) {
      if (session.alive()) return replies.error();
      return std::optional<Answers>();
    }
    answers.replies = *std::move(replies);
    const ConnectionNumber connection = answers.connection();
    bool whole = true;
    for (const Reply& reply : answers.replies) {
      if (ends_session(reply.code)) return std::optional<Answers>();
      if (leaves_doubt(reply.code) || reply.connection != connection) whole = false;
    }
    if (whole) return std::optional<Answers>(std::move(answers));
    if (BootClock::now() >= by) {
      return error_from(ZOPERATIONTIMEOUT, space_.where, Sent::reading);
    }
  }
}

Result<Renewals::Beaten> Renewals::judge_write(Beat& beat, bool made, std::int32_t before,
                                               const Reply& write, const Reply& above) const {
  // Checked first, for a space that was wiped.
  if (!above.ok()) return error_from(above.code, space_.where, Sent::reading);
  if (!made && (write.ok() || write.code == ZNODEEXISTS)) {
    beat.was_made();
    return write.ok() ? Beaten::done : Beaten::again;
  }
  if (made && write.ok()) {
    return beat.answered(before, write.stat.version) ? Beaten::done : Beaten::gone_back;
  }
  // Only the end of its session removes the node.
  if (made && write.code == ZNONODE) return Beaten::gone_back;
  return error_from(write.code, space_.where, Sent::reading);
}

Status Renewals::judge(const Session& session, const std::vector<std::string>& tokens,
                       std::span<const Reply> replies, Breaks breaks, std::set<std::string>& lost) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Reply& reply = replies[i];
    if (!reply.ok() && reply.code != ZNONODE) {
      return error_from(reply.code, space_.where, Sent::reading);
    }
    if (reply.ok() && reply.stat.owner == session.id()) {
      space_.own.seen(tokens[i], breaks, reply.connection);
    } else {
      lost.insert(tokens[i]);
      space_.own.forget(tokens[i]);
    }
  }
  return {};
}

// The store was restored from a backup that has this session. There the session owns holds that it
// has long released, and lacks those it took since: all of that ends with the session. It is kept
// until its holders must have noticed.
void Renewals::give_up(const std::shared_ptr<Session>& session) {
  space_.sessions.retire(session);
  static_cast<void>(space_.own.take_all_in(*session));
}

}  // namespace lockset::zookeeper
