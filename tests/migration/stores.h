// Two stores in memory on a clock that the test moves, and clients that take holds in them.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/migration_mark.h"
#include "lockset/forwarding_backend.h"
#include "lockset/memory_backend.h"
#include "lockset/migration.h"
#include "tests/support/manual_clock.h"

namespace lockset::migration_tests {

using namespace std::chrono_literals;

// Forwards calls, and reports each one before it is made.
class WatchedBackend final : public ForwardingBackend {
 public:
  // Called before each call. Its result is the answer instead; `delivered` says whether the store
  // applies the call all the same.
  struct Verdict {
    std::optional<Error> answer;
    bool delivered = true;
    // For a change of the configuration that is not delivered: gets the change, to make it later.
    std::function<void(std::function<void()> change)> keep = {};
  };
  // Reading: the call changes nothing in the store.
  using Watch = std::function<Verdict(bool reading)>;

  WatchedBackend(std::shared_ptr<Backend> inner, std::shared_ptr<Watch> watch)
      : ForwardingBackend(inner), store_(std::move(inner)), watch_(std::move(watch)) {}

  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    return judged<AcquireOutcome>(false, [&] { return ForwardingBackend::try_acquire(request); });
  }
  Result<std::optional<Grant>> resolve(const HoldRef& attempt, TimePoint by) override {
    return judged<std::optional<Grant>>(true,
                                        [&] { return ForwardingBackend::resolve(attempt, by); });
  }
  Result<bool> release(const HoldRef& hold, std::string_view app, TimePoint by) override {
    return judged<bool>(false, [&] { return ForwardingBackend::release(hold, app, by); });
  }
  Result<Inspection> inspect(const InspectQuery& query, TimePoint by) override {
    return judged<Inspection>(true, [&] { return ForwardingBackend::inspect(query, by); });
  }
  Result<SpaceConfig> load_config(TimePoint by) override {
    return judged<SpaceConfig>(true, [&] { return ForwardingBackend::load_config(by); });
  }
  Result<SpaceConfig> change_config(const ConfigChange& change, TimePoint by) override {
    return judged<SpaceConfig>(
        false, [&] { return ForwardingBackend::change_config(change, by); },
        [store = store_, change] { static_cast<void>(store->change_config(change, {}).ok()); });
  }

 private:
  template <class T, class Call>
  Result<T> judged(bool reading, const Call& call, const std::function<void()>& late = {}) {
    const Verdict verdict = (*watch_)(reading);
    if (!verdict.answer) return call();
    if (verdict.delivered) static_cast<void>(call().ok());
    if (!verdict.delivered && verdict.keep && late) verdict.keep(late);
    return *verdict.answer;
  }
  const std::shared_ptr<Backend> store_;
  const std::shared_ptr<Watch> watch_;
};

// The error of a call that should have failed; fails the test if it did not.
template <class T>
Error refusal(const Result<T>& result) {
  if (!result) return result.error();
  ADD_FAILURE() << "should have been refused";
  return {};
}

// One step of a migration.
using Move = Result<MigrationPhase> (Migration::*)(TimePoint by);

class Stores : public ::testing::Test {
 protected:
  using Step = MigrationMark::Step;

  std::unique_ptr<Backend> old_client() { return make_memory_backend(old_store); }
  std::unique_ptr<Backend> new_client() { return make_memory_backend(new_store); }
  Migration migration() { return {old_client(), new_client(), clock}; }
  // A migration with watched calls; the same function watches both stores.
  Migration watched(WatchedBackend::Watch watch);

  // So soon that no call waits for time to pass.
  [[nodiscard]] TimePoint soon() const { return clock.now() + 100ms; }

  // Takes a hold; `tag` is the end of the instance: "" for a client that knows of no migration.
  Stamp take(const std::shared_ptr<MemoryStore>& store, const std::string& name,
             const std::string& tag, Duration lease = 1h, bool permanent = false);
  void release(const std::shared_ptr<MemoryStore>& store, Stamp stamp);
  SpaceConfig config(const std::shared_ptr<MemoryStore>& store);
  MigrationMark mark(const std::shared_ptr<MemoryStore>& store);
  void set_mark(const std::shared_ptr<MemoryStore>& store, const MigrationMark& mark);

  // Replaces the stores by empty ones.
  void start_anew();
  // Moves the clock until the step is taken or fails for good.
  Result<MigrationPhase> make(Migration& one, Move move);
  // Goes to this phase from any other, and moves the clock as needed.
  void go_to(MigrationPhase phase);
  // The phase; checks that the status is certain and no switch is under way.
  MigrationPhase phase();

  test::ManualClock clock;
  std::shared_ptr<MemoryStore> old_store = make_memory_store(clock);
  std::shared_ptr<MemoryStore> new_store = make_memory_store(clock);
};

}  // namespace lockset::migration_tests
