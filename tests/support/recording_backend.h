// Records what passes between the core (or a test) and a store.
//
//   attempts      everything: each try_acquire is an acquire of its own that does not wait, and
//                 is answered by the store's own word; a later resolve() that finds a grant is
//                 noted as the late answer of its attempt. Renewals, releases, breaks, changes of
//                 permits, and inspections of the whole store as pictures of it.
//   beneath_api   for those who record acquires and releases at the level of Locks and Hold,
//                 what does not show there: renewals; and attempts that were perhaps granted, for
//                 the core may go on to another one and answer for that (semantics 14).
//
// A grant or a renewal is noted as promised until validity_end() of it, as the core promises
// it. Not recorded: reclaim(), which ends holds that the checker then misses, changes of the
// permits of `*`, and permanent holds' end. So don't check runs that do that.
//
// To find what a broken backend does, record above it: Recording(Broken(store)).
//
// Thread-safety: as every backend.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "lockset/backend.h"
#include "lockset/forwarding_backend.h"
#include "tests/support/recorder.h"

namespace lockset::test {

class RecordingBackend final : public ForwardingBackend {
 public:
  enum class Level : std::uint8_t { attempts, beneath_api };

  // One Recorder may serve several: they are then one process of the history.
  RecordingBackend(std::shared_ptr<Backend> inner, std::shared_ptr<Recorder> recorder,
                   Level level = Level::attempts);

  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override;
  Result<std::optional<Grant>> resolve(const HoldRef& attempt, TimePoint by) override;
  Result<RenewReply> renew(const Owner& owner, std::span<const RenewRequest> requests,
                           TimePoint by) override;
  Result<bool> release(const HoldRef& hold, std::string_view app, TimePoint by) override;
  Result<bool> break_hold(const HoldRef& hold, TimePoint by) override;
  Result<Inspection> inspect(const InspectQuery& query, TimePoint by) override;
  Result<SpaceConfig> change_config(const ConfigChange& change, TimePoint by) override;

 private:
  struct Open {
    std::uint64_t op = 0;
    TimePoint sent;
  };
  Result<AcquireOutcome> beneath_api(const AcquireRequest& request);
  void note_grant(const Open& asked, const Grant& grant);
  void note_end(Stamp stamp, const Result<bool>& answer);

  const std::shared_ptr<Recorder> recorder_;
  const Level level_;
  std::mutex mutex_;
  std::map<Token, Open> open_;  // attempts whose outcome is not known
  std::mutex picture_;          // one at a time in a process
};

// The whole picture as events, between SeenBegin at `from` and SeenEnd now.
void record_picture(Recorder& recorder, TimePoint from, const Inspection& inspection);

}  // namespace lockset::test
