#include "tests/support/recording_backend.h"

#include <optional>
#include <utility>
#include <variant>

#include "core/lease_state.h"
#include "lockset/forwarding_backend.h"

namespace lockset::test {

RecordingBackend::RecordingBackend(std::shared_ptr<Backend> inner,
                                   std::shared_ptr<Recorder> recorder, Level level)
    : ForwardingBackend(std::move(inner)), recorder_(std::move(recorder)), level_(level) {}

void RecordingBackend::note_grant(const Open& asked, const Grant& grant) {
  recorder_->record(
      history::Granted{asked.op, grant.stamp, validity_end(asked.sent, grant.lease), grant.floors});
}

// An attempt whose reply was lost may be granted next to the one that gives the caller its answer.
// So may one whose grant came too late: the core gives it back.
Result<AcquireOutcome> RecordingBackend::beneath_api(const AcquireRequest& request) {
  const TimePoint sent = recorder_->now();
  Result<AcquireOutcome> outcome = inner().try_acquire(request);
  const Grant* const grant = outcome ? std::get_if<Grant>(&*outcome) : nullptr;
  const bool late = grant != nullptr && recorder_->now() >= validity_end(sent, grant->lease);
  if (late || (!outcome && outcome.error().may_have_applied())) {
    const std::uint64_t op = recorder_->ask_at(sent, request.set->items(), request.lease,
                                               Duration::zero(), request.permits);
    if (request.replaces != nullptr) {
      recorder_->record_at(sent, history::Replace{op, request.replaces->stamp});
    }
    recorder_->record(history::Unknown{op});
  }
  return outcome;
}

bool RecordingBackend::note_condition(std::uint64_t op, const AcquireRequest& request) {
  Trail trail;
  for (const Expected& each : request.unchanged_since) {
    trail.emplace_back(request.set->items()[each.item].name, each.last_write);
  }
  std::uint64_t since = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto at = seen_.find(trail);
    if (at == seen_.end()) return false;
    since = at->second;
  }
  recorder_->record(history::Condition{op, since});
  return true;
}

Result<AcquireOutcome> RecordingBackend::try_acquire(const AcquireRequest& request) {
  if (level_ != Level::attempts) return beneath_api(request);
  Open asked;
  asked.op = recorder_->ask(request.set->items(), request.lease, Duration::zero(), request.permits);
  const bool condition = note_condition(asked.op, request);
  if (request.replaces != nullptr) {
    recorder_->record(history::Replace{asked.op, request.replaces->stamp});
  }
  asked.sent = recorder_->now();
  Result<AcquireOutcome> outcome = inner().try_acquire(request);
  if (!outcome) {
    if (!outcome.error().may_have_applied()) {
      recorder_->record(history::Refused{asked.op});
      return outcome;
    }
    {
      const std::lock_guard lock(mutex_);
      open_[request.token] = asked;
    }
    recorder_->record(history::Unknown{asked.op});
  } else if (const auto* grant = std::get_if<Grant>(&*outcome)) {
    note_grant(asked, *grant);
  } else if (const auto* busy = std::get_if<Busy>(&*outcome)) {
    recorder_->record(history::Busy{asked.op, busy->name, busy->holder});
  } else if (condition && std::holds_alternative<Changed>(*outcome)) {
    recorder_->record(history::Changed{asked.op, {}});
  } else {
    recorder_->record(history::Refused{asked.op});
  }
  return outcome;
}

Result<ObserveOutcome> RecordingBackend::observe(const ObserveRequest& request) {
  if (level_ != Level::attempts) return inner().observe(request);
  const std::uint64_t op = recorder_->next_op();
  recorder_->record(history::Observe{op});
  Result<ObserveOutcome> outcome = inner().observe(request);
  const auto* const traces = outcome ? std::get_if<std::vector<Trace>>(&*outcome) : nullptr;
  if (traces == nullptr) {
    recorder_->record(history::NotObserved{op});
    return outcome;
  }
  history::Observed observed{op, {}};
  Trail trail;
  bool being_written = false;
  for (std::size_t i = 0; i < traces->size() && i < request.names.size(); ++i) {
    const Trace& trace = (*traces)[i];
    observed.saw.push_back({request.names[i], trace.last_write, trace.being_written});
    trail.emplace_back(request.names[i], trace.last_write);
    being_written = being_written || trace.being_written;
  }
  recorder_->record(std::move(observed));
  if (being_written) return outcome;
  const std::lock_guard lock(mutex_);
  seen_[std::move(trail)] = op;
  return outcome;
}

Result<std::optional<Grant>> RecordingBackend::resolve(const HoldRef& attempt, TimePoint by) {
  const TimePoint sent = recorder_->now();
  Result<std::optional<Grant>> found = inner().resolve(attempt, by);
  if (level_ != Level::attempts || !found || !*found) return found;
  std::optional<Open> asked;
  {
    const std::lock_guard lock(mutex_);
    if (auto node = open_.extract(attempt.token)) asked = node.mapped();
  }
  if (asked) {
    asked->sent = sent;
    note_grant(*asked, **found);
  }
  return found;
}

Result<RenewReply> RecordingBackend::renew(const Owner& owner,
                                           std::span<const RenewRequest> requests, TimePoint by) {
  for (const RenewRequest& request : requests)
    recorder_->record(history::Renew{request.hold.stamp});
  const TimePoint sent = recorder_->now();
  Result<RenewReply> reply = inner().renew(owner, requests, by);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Stamp stamp = requests[i].hold.stamp;
    if (!reply || i >= reply->renewals.size() || !reply->answered(i) ||
        reply->may_be_forgotten(i)) {
      recorder_->record(history::RenewUnknown{stamp});
    } else if (const std::optional<Renewal>& renewal = reply->renewals[i]) {
      recorder_->record(history::Renewed{stamp, validity_end(sent, renewal->lease)});
    } else {
      recorder_->record(history::NotRenewed{stamp});
    }
  }
  return reply;
}

Result<ReregisterOutcome> RecordingBackend::reregister(const Owner& owner,
                                                       const ReregisterRequest& request,
                                                       TimePoint by) {
  const Stamp stamp = request.renewal.hold.stamp;
  recorder_->record(history::Renew{stamp});
  const TimePoint sent = recorder_->now();
  Result<ReregisterOutcome> outcome = inner().reregister(owner, request, by);
  if (!outcome || std::holds_alternative<Stale>(*outcome)) {
    recorder_->record(history::RenewUnknown{stamp});
  } else if (const auto* renewal = std::get_if<Renewal>(&*outcome)) {
    recorder_->record(history::Renewed{stamp, validity_end(sent, renewal->lease)});
  } else {
    recorder_->record(history::NotRenewed{stamp});
  }
  return outcome;
}

void RecordingBackend::note_end(Stamp stamp, const Result<bool>& answer) {
  if (!answer) {
    recorder_->record(history::ReleaseUnknown{stamp});
  } else if (*answer) {
    recorder_->record(history::Released{stamp});
  } else {
    recorder_->record(history::NotHeld{stamp});
  }
}

Result<bool> RecordingBackend::release(const HoldRef& hold, std::string_view app, TimePoint by) {
  if (level_ != Level::attempts) return inner().release(hold, app, by);
  recorder_->record(history::Release{hold.stamp});
  Result<bool> answer = inner().release(hold, app, by);
  note_end(hold.stamp, answer);
  return answer;
}

Result<bool> RecordingBackend::break_hold(const HoldRef& hold, TimePoint by) {
  if (level_ != Level::attempts) return inner().break_hold(hold, by);
  recorder_->record(history::Release{hold.stamp});
  Result<bool> answer = inner().break_hold(hold, by);
  note_end(hold.stamp, answer);
  return answer;
}

Result<Inspection> RecordingBackend::inspect(const InspectQuery& query, TimePoint by) {
  const TimePoint from = recorder_->now();
  Result<Inspection> answer = inner().inspect(query, by);
  const bool whole = query.match == InspectQuery::Match::all;
  if (level_ != Level::attempts || !whole || !answer || answer->quarantine) return answer;
  const std::lock_guard lock(picture_);
  record_picture(*recorder_, from, *answer);
  return answer;
}

Result<SpaceConfig> RecordingBackend::change_config(const ConfigChange& change, TimePoint by) {
  const auto* permits = std::get_if<SetPermits>(&change);
  if (level_ != Level::attempts || permits == nullptr) return inner().change_config(change, by);
  const Result<SpaceConfig> before = inner().load_config(by);
  if (!before) return before;
  const Permits after = changed(*before, change).permits_of(permits->name);
  recorder_->record(history::PermitsBegin{permits->name, after.read, after.write});
  Result<SpaceConfig> answer = inner().change_config(change, by);
  // Without its end the change counts as under way for ever: that is all that is known.
  if (answer) recorder_->record(history::PermitsEnd{permits->name, after.read, after.write});
  return answer;
}

void record_picture(Recorder& recorder, TimePoint from, const Inspection& inspection) {
  const TimePoint to = recorder.now();
  recorder.record_at(from, history::SeenBegin{});
  for (const HoldInfo& hold : inspection.holds) {
    recorder.record_at(to, history::Seen{hold.stamp, wishes(hold.items)});
  }
  recorder.record_at(to, history::SeenEnd{});
}

}  // namespace lockset::test
