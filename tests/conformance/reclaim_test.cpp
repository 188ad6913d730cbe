// SEM 12: application ids, epochs, and takeovers from dead instances.
#include <atomic>

#include "tests/conformance/suite.h"

namespace lockset::conformance {
namespace {

class Reclaim : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (skip_unless(traits().can_reclaim, "reclaim")) return;
  }
  // The first step of an instance that opens with reclaim: its hold on the application id, whose
  // stamp is its epoch.
  std::int64_t take_app(Client& c, Duration lease = 1min) {
    return c.take({write("@app:" + c.owner().app)}, {.lease = lease}).stamp.value;
  }
  Result<std::size_t> reclaim(const std::string& app, std::int64_t epoch) {
    return backend()->reclaim(app, epoch, soon());
  }
  // An instance that has started, with a short lease on its application id. Returns its epoch.
  std::int64_t started(Client& c) {
    for (Duration lease = 100ms;; lease *= 2) {
      std::optional<Grant> id;
      const TimePoint asked = BootClock::now();
      const Wanted wanted{write("@app:" + c.owner().app)};
      EXPECT_TRUE(
          eventually([&] { return (id = c.try_take(wanted, {.lease = lease})).has_value(); }));
      const Result<std::size_t> result = reclaim(c.owner().app, id.value().stamp.value);
      if (!result && BootClock::now() >= asked + lease)
        continue;  // too late, because the machine
                   // is busy
      EXPECT_TRUE(result);
      return id->stamp.value;
    }
  }
};

// SEM 12: "ends all holds of that application with a lower epoch"
TEST_P(Reclaim, EndsAllHoldsOfLowerEpochs) {
  Client dead = client("app", 0);
  dead.take({write("a"), write("b")});
  dead.take({read("c")});
  Client starter = client("app");
  const std::int64_t epoch = take_app(starter);
  EXPECT_EQ(reclaim("app", epoch).value(), 2U);
  ASSERT_EQ(space().look().size(), 1U) << "the hold on the application id stays";
  EXPECT_EQ(space().look()[0].stamp, Stamp{epoch});
  Client now = client("app", epoch);
  EXPECT_TRUE(now.take({write("a"), write("b"), write("c")}).stamp);
}

// SEM 12: permanent holds too: that is its purpose
TEST_P(Reclaim, EndsPermanentHolds) {
  if (skip_unless(traits().permanent_leases, "permanent leases")) return;
  Client dead = client("app", 0);
  ASSERT_TRUE(dead.make_permanent(dead.take({write("a")}).stamp));
  const std::int64_t epoch = take_app(dead);
  EXPECT_EQ(reclaim("app", epoch).value(), 1U);
  EXPECT_TRUE(dead.take({write("a")}).stamp);
}

// SEM 12: and no holds of others
TEST_P(Reclaim, TouchesNoOtherApplication) {
  Client other = client("app2");
  const Grant foreign = other.take({write("a")});
  Client upper = client("APP");
  const Grant also = upper.take({write("b")});
  Client c = client("app");
  const std::int64_t epoch = take_app(c);
  EXPECT_EQ(reclaim("app", epoch).value(), 0U);
  EXPECT_TRUE(other.is_live(foreign.stamp));
  EXPECT_TRUE(other.is_live(also.stamp));
}

// SEM 12: holds of the epoch itself stay
TEST_P(Reclaim, KeepsTheHoldsOfItsOwnEpoch) {
  Client c = client("app");
  const std::int64_t epoch = take_app(c);
  Client now = client("app", epoch);
  const Grant mine = now.take({write("a")});
  EXPECT_EQ(reclaim("app", epoch).value(), 0U);
  EXPECT_TRUE(now.is_live(mine.stamp));
}

// SEM 7, 12: the epoch is in the configuration, so older instances' requests are stale
TEST_P(Reclaim, MakesOlderInstancesRequestsStale) {
  Client old = client("app", 0);
  Client starter = client("app");
  const std::int64_t epoch = take_app(starter);
  ASSERT_TRUE(reclaim("app", epoch));
  const Result<AcquireOutcome> outcome = old.ask_once({write("a")});
  ASSERT_TRUE(outcome && std::holds_alternative<Stale>(*outcome)) << test::describe(outcome);
  const std::int64_t version = old.config().version;
  old.reload();
  const SpaceConfig& config = old.config();
  EXPECT_GT(config.version, version);
  ASSERT_TRUE(config.epochs.contains("app"));
  EXPECT_EQ(config.epochs.find("app")->second, epoch);
}

// SEM 12: while a twin lives, opening fails: the hold on the id is exclusive
TEST_P(Reclaim, ALiveTwinHoldsTheApplicationId) {
  Client one = client("app");
  Client two(open(), "app");
  take_app(one);
  two.meet_busy({write("@app:app")});
  EXPECT_TRUE(two.take({write("@app:other")}).stamp) << "another application's id is free";
}

// SEM 12: the permits of `*` do not admit two instances
TEST_P(Reclaim, DefaultPermitsDoNotApplyToTheApplicationId) {
  Client c = client("app");
  c.set_permits("*", Mode::write, 5);
  take_app(c);
  c.meet_busy({write("@app:app")});
}

// SEM 12: after the twin died and its lease ended, the next instance gets the id, with a greater
// epoch
TEST_P(Reclaim, TheNextInstanceTakesOverAfterTheLease) {
  Client first = client("app");
  const std::int64_t one = started(first);
  Client as_first = client("app", one);
  const Grant left = as_first.take({write("a")});
  Client second(open(), "app");
  std::optional<Grant> id;
  ASSERT_TRUE(eventually([&] { return (id = second.try_take({write("@app:app")})).has_value(); }));
  EXPECT_GT(id->stamp.value, one);
  EXPECT_EQ(reclaim("app", id->stamp.value).value(), 1U);
  EXPECT_FALSE(second.is_live(left.stamp));
  EXPECT_FALSE(as_first.renew(left.stamp, 1min));
  EXPECT_FALSE(as_first.release(left.stamp));
}

// Contract: not_held if the hold on the application id is not live
TEST_P(Reclaim, WithoutTheHoldItIsNotHeld) {
  Client c = client("app");
  const Grant work = c.take({write("a")});
  const std::int64_t epoch = take_app(c);
  ASSERT_TRUE(c.release(Stamp{epoch}));
  const SpaceConfig before = c.config();
  for (const std::int64_t wrong : {epoch, epoch + 1, std::int64_t{1}}) {
    const Result<std::size_t> result = reclaim("app", wrong);
    ASSERT_FALSE(result) << wrong;
    EXPECT_EQ(result.error().code, Errc::not_held) << wrong;
  }
  // It is still in the store, perhaps, and others may have it any moment.
  const Grant over = c.take({write("@app:app")}, {.lease = 1ms});
  ASSERT_TRUE(expired(c, {over}));
  const Result<std::size_t> late = reclaim("app", over.stamp.value);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::not_held);
  c.reload();
  EXPECT_EQ(c.config(), before) << "nothing was changed";
  EXPECT_TRUE(c.is_live(work.stamp));
}

// Contract: another application's hold can't serve as the epoch
TEST_P(Reclaim, AnotherApplicationsHoldIsNoEpoch) {
  Client c = client("app");
  const Grant work = c.take({write("a")});
  Client other = client("other");
  const std::int64_t foreign = take_app(other);
  const Result<std::size_t> result = reclaim("app", foreign);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::not_held);
  EXPECT_TRUE(c.is_live(work.stamp));
}

// Contract: superseded if the application's epoch is higher; the late reclaim of an older instance
// ends nothing
TEST_P(Reclaim, AnOlderInstanceIsSuperseded) {
  Client one = client("app");
  const std::int64_t old = take_app(one);
  ASSERT_TRUE(one.release(Stamp{old}));
  Client two(open(), "app");
  const std::int64_t young = take_app(two);
  ASSERT_TRUE(reclaim("app", young));
  Client now(open(), "app", young);
  const Grant work = now.take({write("a")});
  const Result<std::size_t> result = reclaim("app", old);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::superseded);
  EXPECT_TRUE(now.is_live(work.stamp));
  EXPECT_EQ(client().config().epochs.find("app")->second, young);
}

// A retry after a lost reply finds its own epoch already set
TEST_P(Reclaim, TheSameEpochTwiceIsHarmless) {
  Client c = client("app");
  const std::int64_t epoch = take_app(c);
  ASSERT_TRUE(reclaim("app", epoch));
  Client now = client("app", epoch);
  const Grant work = now.take({write("a")});
  const Result<std::size_t> again = reclaim("app", epoch);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, 0U);
  EXPECT_TRUE(now.is_live(work.stamp));
  EXPECT_TRUE(now.is_live(Stamp{epoch}));
}

// SEM 7, 12: an old instance's acquires race with the takeover. Earlier grants are ended. After it
// every request is stale, and the core refuses by the new configuration. In no case a hold of the
// old epoch is left.
TEST_P(Reclaim, NoHoldOfTheOldEpochSurvivesARace) {
  constexpr int rounds = 30;
  std::size_t granted_before = 0;
  for (int round = 0; round < rounds; ++round) {
    const std::string app = "app" + std::to_string(round);
    const std::shared_ptr<Backend> old_backend = open();
    Client old(old_backend, app, 0);
    Client young(open(), app);
    const std::int64_t epoch = take_app(young);
    std::atomic<bool> began = false;
    std::size_t granted = 0;
    run_threads(2, [&](std::size_t i) {
      if (i == 1) {
        if (!eventually([&] { return began.load(); })) ADD_FAILURE() << "it never began";
        if (!backend()->reclaim(app, epoch, soon())) ADD_FAILURE() << "reclaim failed";
        return;
      }
      Client reader(open(), app);
      const TimePoint until = BootClock::now() + patience;
      for (int k = 0; BootClock::now() < until; ++k) {
        const Result<AcquireOutcome> outcome = old.ask_once({write(app + "/" + std::to_string(k))});
        began = true;
        if (!outcome) {
          ADD_FAILURE() << test::describe(outcome);
          return;
        }
        if (std::holds_alternative<Stale>(*outcome)) {
          old.reload();
          if (!old.config().epochs.contains(app)) ADD_FAILURE() << "stale, but no epoch";
          return;
        }
        if (std::holds_alternative<Grant>(*outcome)) ++granted;
      }
      ADD_FAILURE() << "never stale";
    });
    granted_before += granted;
    for (const HoldInfo& hold : young.holds()) {
      EXPECT_FALSE(hold.owner.app == app && hold.stamp != Stamp{epoch})
          << describe(hold.items) << " survived";
    }
  }
  EXPECT_GE(granted_before, static_cast<std::size_t>(rounds)) << "the old ones hardly ran";
}

// SEM 12: if several instances start at the same time, one becomes the application
TEST_P(Reclaim, OfSeveralStartingInstancesOneHoldsTheId) {
  std::atomic<int> winners = 0;
  // The clients live until all have tried: a hold may end with the client that took it.
  std::vector<std::shared_ptr<Backend>> clients(4);
  run_threads(4, [&](std::size_t i) {
    clients[i] = open();
    Client c(clients[i], "app");
    if (const std::optional<Grant> id = c.try_take({write("@app:app")})) {
      if (c.backend().reclaim("app", id->stamp.value, soon())) ++winners;
    }
  });
  EXPECT_EQ(winners, 1);
}

LOCKSET_CONFORMANCE_SUITE(Reclaim);

}  // namespace
}  // namespace lockset::conformance
