// Records what passes between the core (or a test) and a store.
//
//   attempts      everything: each try_acquire is a separate acquire that does not wait, and
//                 its answer is the store's; a later resolve() that finds a grant is
//                 recorded as the late answer of its attempt. Also renewals, releases, breaks,
//                 changes of permits, observations, and inspections of the whole store as
//                 snapshots. The condition of an attempt is recorded if it is what one
//                 observation saw.
//   beneath_api   for programs that record acquires and releases at the level of Locks and
//                 Hold. Records what is not visible there: renewals, and attempts that were
//                 perhaps granted, because the core may go on to another attempt and answer
//                 for that (semantics 14).
//
// A grant or a renewal is recorded as promised until its validity_end(), which the core promises.
// Not recorded: reclaim(), which ends holds that the checker then misses; changes of the permits of
// `*`; and the end of permanent holds. So don't check runs that contain these. Nothing is upgraded
// or downgraded: a history can't say so, and its trait is off.
//
// To find out what a broken backend does, record above it: Recording(Broken(store)).
//
// Thread-safety: as every backend.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "lockset/backend.h"
#include "lockset/forwarding_backend.h"
#include "tests/support/recorder.h"

namespace lockset::test {

class RecordingBackend final : public ForwardingBackend {
 public:
  enum class Level : std::uint8_t { attempts, beneath_api };

  // Several backends may share one Recorder: they are then one process of the history.
  RecordingBackend(std::shared_ptr<Backend> inner, std::shared_ptr<Recorder> recorder,
                   Level level = Level::attempts);

  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override;
  Result<std::optional<Grant>> resolve(const HoldRef& attempt, TimePoint by) override;
  Result<RenewReply> renew(const Owner& owner, std::span<const RenewRequest> requests,
                           TimePoint by) override;
  Result<ReregisterOutcome> reregister(const Owner& owner, const ReregisterRequest& request,
                                       TimePoint by) override;
  Result<bool> release(const HoldRef& hold, std::string_view app, TimePoint by) override;
  Result<bool> break_hold(const HoldRef& hold, TimePoint by) override;
  Result<Inspection> inspect(const InspectQuery& query, TimePoint by) override;
  Result<SpaceConfig> change_config(const ConfigChange& change, TimePoint by) override;
  Result<ObserveOutcome> observe(const ObserveRequest& request) override;

 private:
  struct Open {
    std::uint64_t op = 0;
    TimePoint sent;
  };
  Result<AcquireOutcome> beneath_api(const AcquireRequest& request);
  // False: it has none, or none that can be recorded.
  bool note_condition(std::uint64_t op, const AcquireRequest& request);
  void note_grant(const Open& asked, const Grant& grant);
  void note_end(Stamp stamp, const Result<bool>& answer);

  const std::shared_ptr<Recorder> recorder_;
  const Level level_;
  std::mutex mutex_;
  std::map<Token, Open> open_;  // attempts whose outcome is not known
  // What was seen of each name, and the last observation that saw it.
  using Trail = std::vector<std::pair<std::string, Stamp>>;
  std::map<Trail, std::uint64_t> seen_;
  std::mutex picture_;  // one snapshot at a time in a process
};

// Records a whole snapshot as events, between SeenBegin at `from` and SeenEnd now.
void record_picture(Recorder& recorder, TimePoint from, const Inspection& inspection);

}  // namespace lockset::test
