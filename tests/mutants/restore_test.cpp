// The checker against a store that is made anew while its clients live, and what can go wrong then:
// stamps, permits and what clients believed to know. SEM 7, 8, 20
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "lockset/forwarding_backend.h"
#include "lockset/memory_backend.h"
#include "tests/mutants/load.h"
#include "tests/support/client.h"
#include "tests/support/recording_backend.h"
#include "tests/support/threads.h"
#include "tests/support/wait.h"

namespace lockset::mutants {
namespace {

using namespace std::chrono_literals;

// The machine's clock, with a calendar that can be switched off.
class Calendar final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const noexcept override { return real_clock().now(); }
  [[nodiscard]] std::chrono::system_clock::time_point wall() const noexcept override {
    return missing ? std::chrono::system_clock::time_point() : real_clock().wall();
  }
  std::atomic<bool> missing = false;
};

// A store that may be replaced by another one.
class Place {
 public:
  enum class Versions : std::uint8_t { by_the_clock, counted };

  explicit Place(Versions versions) : versions_(versions) { make_anew(0); }
  void make_anew(int changes) {
    std::shared_ptr<Backend> made = make_memory_backend(make_memory_store(clock_));
    for (int i = 0; i < changes; ++i) set_readers(made, 1);
    const std::lock_guard lock(mutex_);
    now_ = std::move(made);
  }
  void set_readers(const std::shared_ptr<Backend>& store, std::uint32_t readers) {
    clock_.missing = versions_ == Versions::counted;
    test::Client(store).set_permits("a", Mode::read, readers);
    clock_.missing = false;
  }
  [[nodiscard]] std::shared_ptr<Backend> now() const {
    const std::lock_guard lock(mutex_);
    return now_;
  }

 private:
  const Versions versions_;
  Calendar clock_;
  mutable std::mutex mutex_;
  std::shared_ptr<Backend> now_;
};

enum class Flaw : std::uint8_t {
  none,
  clings_to_the_old,    // one of the clients continues in the store that is gone
  stamps_begin_anew,    // they are counted from one again
  versions_come_again,  // with other permits than the version had before
};

// A client of the place.
class Living final : public ForwardingBackend {
 public:
  Living(Place& place, Flaw flaw, bool first)
      : ForwardingBackend(place.now()), place_(place), flaw_(flaw), first_(first) {}

  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    const std::shared_ptr<Backend> store = where();
    Result<AcquireOutcome> outcome = store->try_acquire(request);
    auto* const grant = outcome ? std::get_if<Grant>(&*outcome) : nullptr;
    if (grant == nullptr || flaw_ != Flaw::stamps_begin_anew) return outcome;
    // As if the clock stood at the beginning: the first store's stamps are far above.
    if (store != inner_store()) shift_ = Stamp{grant->stamp.value / 2};
    grant->stamp.value -= shift_.value;
    for (Stamp& floor : grant->floors) floor.value -= shift_.value;
    return outcome;
  }
  Result<bool> release(const HoldRef& hold, std::string_view app, TimePoint by) override {
    // A hold from before the wipe would stay in the old store, and block the client there.
    if (flaw_ == Flaw::clings_to_the_old) (void)first_store_->release(hold, app, by);
    return where()->release(Stamp{hold.stamp.value + shift_.value}, app, by);
  }
  Result<SpaceConfig> load_config(TimePoint by) override { return where()->load_config(by); }

 private:
  [[nodiscard]] std::shared_ptr<Backend> where() const {
    return flaw_ == Flaw::clings_to_the_old && first_ ? inner_store() : place_.now();
  }
  [[nodiscard]] std::shared_ptr<Backend> inner_store() const { return first_store_; }

  Place& place_;
  const Flaw flaw_;
  const bool first_;
  const std::shared_ptr<Backend> first_store_ = place_.now();
  Stamp shift_{};
};

// Several clients ask for "a", and keep it for a moment; in between the store is wiped.
history::Report played(Flaw flaw) {
  Place place(flaw == Flaw::versions_come_again ? Place::Versions::counted
                                                : Place::Versions::by_the_clock);
  test::Recorder person("person");
  const auto set_many = [&](std::uint32_t readers) {
    person.record(history::PermitsBegin{"a", readers, 1});
    place.set_readers(place.now(), readers);
    person.record(history::PermitsEnd{"a", readers, 1});
  };
  set_many(1000);

  constexpr std::size_t clients = 4;
  std::vector<std::shared_ptr<test::Recorder>> recorders;
  std::vector<test::Client> asking;
  for (std::size_t i = 0; i < clients; ++i) {
    recorders.push_back(std::make_shared<test::Recorder>("client-" + std::to_string(i)));
    asking.emplace_back(std::make_shared<test::RecordingBackend>(
        std::make_shared<Living>(place, flaw, i == 0), recorders.back()));
    asking.back().reload();
  }
  std::atomic<bool> over = false;
  std::atomic<std::size_t> asked = 0;
  std::jthread wipes([&] {
    const auto wait_for = [&](std::size_t more) {
      const std::size_t enough = asked + more;
      test::eventually([&] { return asked >= enough || over; }, 3 * test::patience);
    };
    wait_for(200);
    const std::uint32_t readers = 1;
    person.record(history::RestoreBegin{});
    person.record(history::PermitsBegin{"a", readers, 1});
    place.make_anew(flaw == Flaw::versions_come_again ? 1 : 2);
    person.record(history::PermitsEnd{"a", readers, 1});
    person.record(history::RestoreEnd{});
    wait_for(400);
    over = true;
  });
  test::run_threads(clients, [&](std::size_t i) {
    while (!over) {
      const Mode mode = i < 2 ? Mode::write : Mode::read;
      const auto outcome = asking[i].ask({{"a", mode}}, {.lease = 10s});
      ++asked;
      const auto* const grant = outcome ? std::get_if<Grant>(&*outcome) : nullptr;
      std::this_thread::sleep_for(100us);
      if (grant != nullptr) (void)asking[i].release(grant->stamp);
    }
  });
  wipes.join();
  history::History history{person.log()};
  for (const auto& each : recorders) history.push_back(each->log());
  history::Rules rules = strict_rules();
  rules.least = {.grants = 50, .overlaps = 20, .busy = 20};
  return history::check(history, rules).value();
}

// The checker reports each of these, and nothing else.
void expect_flagged_by(Flaw flaw, const std::set<Invariant>& expected) {
  // Chance decides which clients meet.
  std::set<Invariant> found;
  for (int i = 0; i < 50 && found != expected; ++i) {
    for (const history::Violation& each : played(flaw).violations) {
      found.insert(each.invariant);
      EXPECT_TRUE(expected.contains(each.invariant))
          << to_string(each.invariant) << ": " << each.story;
    }
  }
  for (const Invariant each : expected) {
    EXPECT_TRUE(found.contains(each)) << "not flagged by " << to_string(each);
  }
}

TEST(RestoredMemory, TheSoundOnePasses) {
  const history::Report report = played(Flaw::none);
  for (const history::Violation& each : report.violations) {
    ADD_FAILURE() << to_string(each.invariant) << ": " << each.story;
  }
  for (const std::string& each : report.vacuous) ADD_FAILURE() << each;
  EXPECT_EQ(report.counts.restores, 1U);
}

TEST(RestoredMemory, AClientThatGoesOnInTheOldOneIsFlagged) {
  expect_flagged_by(Flaw::clings_to_the_old, {Invariant::exclusion, Invariant::fencing});
}

TEST(RestoredMemory, StampsThatBeginAnewAreFlagged) {
  expect_flagged_by(Flaw::stamps_begin_anew, {Invariant::fencing});
}

TEST(RestoredMemory, AVersionThatComesAgainIsFlagged) {
  expect_flagged_by(Flaw::versions_come_again, {Invariant::permits});
}

}  // namespace
}  // namespace lockset::mutants
