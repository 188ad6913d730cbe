#include "tests/simulation/told.h"

#include <string>
#include <utility>

namespace lockset::simulation {

using namespace std::chrono_literals;

TimePoint promise(TimePoint sent, Duration lease) {
  if (lease == Duration::max()) return TimePoint::max();
  return sent + lease - std::clamp<Duration>(lease / 10, 50ms, 2s);
}

void Noting::promised(Stamp stamp, TimePoint sent, Duration lease) {
  TimePoint& until = told_.promised[stamp];
  until = std::max(until, promise(sent, lease));
  if (sent > truth_.lost_state()) return;
  TimePoint& before = told_.promised_before[stamp];
  before = std::max(before, promise(sent, lease));
}

Result<AcquireOutcome> Noting::try_acquire(const AcquireRequest& request) {
  const TimePoint sent = world_.now();
  Result<AcquireOutcome> outcome = inner().try_acquire(request);
  const bool app = request.set->items().front().name.starts_with("@app:");
  if (app) told_.app_token = request.token;
  Fiber* const self = world_.current();
  if (!outcome) {
    if (outcome.error().may_have_applied()) {
      ++world_.counts["attempts in doubt"];
      told_.attempts[self].push_back({sent, world_.now(), {}, request.token});
    }
  } else if (const Grant* grant = std::get_if<Grant>(&*outcome)) {
    told_.attempts[self].push_back({sent, world_.now(), grant->stamp, request.token});
    promised(grant->stamp, sent, grant->lease);
    // A grant that comes too late to be useful is trouble, too.
    if (promise(sent, grant->lease) <= world_.now()) ++process_.troubles;
    if (app) told_.app = grant->stamp;
  } else if (const Busy* busy = std::get_if<Busy>(&*outcome)) {
    told_.busy[self] = *busy;
  }
  return outcome;
}

Result<std::optional<Grant>> Noting::resolve(const HoldRef& attempt, TimePoint by) {
  const TimePoint sent = world_.now();
  auto found = inner().resolve(attempt, by);
  if (found && *found) {
    ++world_.counts["doubts resolved to a grant"];
    promised((*found)->stamp, sent, (*found)->lease);
    if (promise(sent, (*found)->lease) <= world_.now()) ++process_.troubles;
    told_.attempts[world_.current()].push_back(
        {sent, world_.now(), (*found)->stamp, attempt.token});
    if (attempt.token == told_.app_token) told_.app = (*found)->stamp;
  }
  return found;
}

Result<RenewReply> Noting::renew(const Owner& owner, std::span<const RenewRequest> requests,
                                 TimePoint by) {
  // What somebody asks for by stamp may also come with all that the core knows of the hold.
  const bool by_renewer =
      requests.front().hold.known() && !told_.renewing.contains(world_.current());
  for (const RenewRequest& each : requests) {
    world_.record(process_, history::Renew{each.hold.stamp});
    // One pass of the renewer may have begun before the end. (A renewal that somebody asks for is
    // intended.)
    const auto over = told_.over.find(each.hold.stamp);
    if (by_renewer && over != told_.over.end() && ++over->second > 1) {
      world_.complain("renewal after the end",
                      "stamp " + std::to_string(each.hold.stamp.value) + " is renewed by " +
                          process_.name + " again and again after it was lost or released");
    }
  }
  const TimePoint sent = world_.now();
  Result<RenewReply> reply = inner().renew(owner, requests, by);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Stamp stamp = requests[i].hold.stamp;
    // One of two stores may not have answered.
    const bool unanswered = !reply || (!reply->unanswered.empty() && reply->unanswered[i]);
    if (unanswered) {
      world_.record(process_, history::RenewUnknown{stamp});
    } else if (const auto& renewal = reply->renewals[i]) {
      ++world_.counts["renewals"];
      // A hold that had ended before this answer came is lost, and stays so.
      const auto before = told_.promised.find(stamp);
      const bool lost = before != told_.promised.end() && before->second < world_.now();
      if (!lost || stamp != told_.app) promised(stamp, sent, renewal->lease);
      if (!lost && stamp == told_.app) app_renewed(sent);
      const TimePoint until =
          told_.app ? std::min(promise(sent, renewal->lease), told_.promised[told_.app])
                    : promise(sent, renewal->lease);
      world_.record(process_, history::Renewed{stamp, until});
    } else {
      // As long as the answer of its upgrade is not known, it is valid longer with the hold on its
      // application (app_renewed), which a history can't show of a hold that is gone.
      const bool goes_on = told_.app && truth_.stands(stamp);
      if (goes_on) {
        world_.record(process_, history::RenewUnknown{stamp});
      } else {
        world_.record(process_, history::NotRenewed{stamp});
      }
      told_.gone[stamp] = sent;
    }
  }
  // Only the renewer's answers are compared with its clock.
  const TimePoint stepped = truth_.stepped();
  if (reply && by_renewer) {
    if (world_.now() < stepped) {
      told_.renewed_before_step = true;
    } else if (sent > stepped && stepped != TimePoint::max()) {
      told_.renewed_after_step = told_.renewed_before_step;
    }
  }
  return reply;
}

// Holds that end with the application's hold are valid longer now, too.
void Noting::app_renewed(TimePoint sent) {
  if (process_.dead) return;
  std::vector<history::Event>& log = world_.history[process_.log].events;
  for (const Stamp stamp : told_.known) {
    if (told_.over.contains(stamp)) continue;
    // A hold that was not confirmed itself since the store was disturbed is not confirmed by this,
    // either, but is still valid longer.
    const TimePoint upset = std::min(truth_.lost_state(), truth_.stepped());
    const TimePoint own = told_.promised[stamp];
    const bool live = truth_.stands(stamp);
    if (!live && (upset == TimePoint::max() || own <= world_.now())) continue;
    const auto before = told_.promised_before.find(stamp);
    const bool confirmed = live && (truth_.lost_state() == TimePoint::max() ||
                                    before == told_.promised_before.end() || before->second < own);
    const TimePoint asked = confirmed ? sent : std::min(sent, upset);
    log.push_back({asked, history::Renew{stamp}});
    log.push_back({world_.now(), history::Renewed{stamp, told_.until(stamp)}});
  }
}

Result<bool> Noting::release(const HoldRef& hold, std::string_view app, TimePoint by) {
  told_.given_back.insert(hold.stamp);
  // This may record a renewal that its stopped caller considers too late: then the caller ends the
  // hold before it can report the loss.
  if (told_.known.contains(hold.stamp) && !told_.let_go.contains(hold.stamp) &&
      !told_.over.contains(hold.stamp)) {
    world_.record(process_, history::Release{hold.stamp});
    world_.record(process_, history::ReleaseUnknown{hold.stamp});
  }
  const TimePoint sent = world_.now();
  Result<bool> done = inner().release(hold, app, by);
  if (done) told_.gone[hold.stamp] = sent;
  return done;
}

}  // namespace lockset::simulation
