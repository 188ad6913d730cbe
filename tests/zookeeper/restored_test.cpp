// SEM 8, 10, 19: a store that is restored from a backup while clients live. Versions, sessions and
// zxids from after the backup come again, with another meaning.
#include <filesystem>

#include "tests/support/requirement.h"
#include "tests/zookeeper/fixture.h"

namespace lockset::zookeeper_tests {
namespace {

class Restored : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::have_server("zookeeper")) return;
    server_ = std::make_unique<test::PrivateServer>("zookeeper");
    init_space(url(), soon()).value();
  }
  // What a person who copies the folder gets. The server may run: its log says where it ends.
  void save() { copy(data(), backup()); }
  void stop_and_save() {
    server_->stop();
    save();
    server_->start();
  }
  void put_back() {
    server_->kill();
    std::filesystem::remove_all(data());
    copy(backup(), data());
    server_->start();
  }
  [[nodiscard]] std::string url() const { return server_->admin_url() + "?space=lockset"; }
  [[nodiscard]] Client client(const std::string& app) const {
    return Client(open_backend(url(), soon()).value(), app);
  }
  // A server turns away sessions that have seen more than it has.
  void catch_up() {
    Client busy = client("busy");
    for (int i = 0; i < 100; ++i) {
      EXPECT_TRUE(busy.release(busy.take({write("other" + std::to_string(i))}).stamp));
    }
  }
  // Until the client has reached the server again.
  static AcquireOutcome ask(Client& client, const Wanted& wanted,
                            std::optional<Stamp> replaces = {}) {
    std::optional<AcquireOutcome> outcome;
    eventually(
        [&] {
          auto answer = client.ask(wanted, {.by = BootClock::now() + 2s, .replaces = replaces});
          if (answer) {
            outcome = *std::move(answer);
          } else {
            const Error& error = answer.error();
            EXPECT_TRUE(error.retryable() || error.may_have_applied()) << error.message;
          }
          return outcome.has_value();
        },
        long_time);
    if (!outcome) throw std::runtime_error("the client does not come back");
    return *outcome;
  }
  static void expect_held_by(Client& other, const Wanted& wanted, Stamp holder) {
    const AcquireOutcome outcome = ask(other, wanted);
    const Busy* busy = std::get_if<Busy>(&outcome);
    ASSERT_NE(busy, nullptr) << "granted twice";
    EXPECT_EQ(busy->holder, holder);
  }

 private:
  [[nodiscard]] std::filesystem::path data() const { return server_->folder() / "data"; }
  [[nodiscard]] std::filesystem::path backup() const { return server_->folder() / "backup"; }
  static void copy(const std::filesystem::path& from, const std::filesystem::path& to) {
    std::filesystem::remove_all(to);
    std::filesystem::copy(from, to, std::filesystem::copy_options::recursive);
  }

  std::unique_ptr<test::PrivateServer> server_;
};

// The name reaches the very version that the old client knows, under the same configuration.
TEST_F(Restored, WhatWasKnownBeforeFitsNothingAfter) {
  Client first = client("first");
  EXPECT_TRUE(first.release(first.take({write("a")}).stamp));
  stop_and_save();
  Client old = client("old");
  const Stamp known = old.take({write("a")}).stamp;
  EXPECT_TRUE(old.release(known));
  put_back();
  Client fresh = client("fresh");
  const Stamp stamp = fresh.take({write("a")}).stamp;
  expect_held_by(old, {write("a")}, stamp);
  EXPECT_TRUE(fresh.is_live(stamp));
  EXPECT_TRUE(fresh.release(stamp));
  const AcquireOutcome next = ask(old, {write("a")});
  ASSERT_TRUE(std::holds_alternative<Grant>(next)) << test::describe(next);
  EXPECT_GT(std::get<Grant>(next).stamp, known);
  EXPECT_GT(std::get<Grant>(next).stamp, stamp);
}

TEST_F(Restored, NorDoesItWhenTheServerHasCaughtUp) {
  Client first = client("first");
  EXPECT_TRUE(first.release(first.take({write("a")}).stamp));
  stop_and_save();
  Client old = client("old");
  EXPECT_TRUE(old.release(old.take({write("a")}).stamp));
  put_back();
  Client fresh = client("fresh");
  const Stamp stamp = fresh.take({write("a")}).stamp;
  catch_up();
  expect_held_by(old, {write("a")}, stamp);
  EXPECT_TRUE(fresh.is_live(stamp));
}

// SEM 7: a version of the configuration with another meaning. The version of its node comes again.
TEST_F(Restored, NorDoTheConfigurationsVersions) {
  Client old = client("old");
  EXPECT_TRUE(old.release(old.take({read("a")}).stamp));
  save();
  old.set_permits("a", Mode::read, 1000);
  EXPECT_TRUE(old.release(old.take({read("a")}).stamp));
  const std::int64_t known = old.config().version;
  put_back();
  Client fresh = client("fresh");
  fresh.set_permits("a", Mode::read, 1);
  EXPECT_GT(fresh.config().version, known);
  const Stamp stamp = fresh.take({read("a")}).stamp;
  catch_up();
  expect_held_by(old, {read("a")}, stamp);
}

// SEM 27: the store does not know a write that came after the backup; whoever restores it raises
// the stamp base.
TEST_F(Restored, ARaisedBaseEndsWhatWasObservedBefore) {
  Client old = client("old");
  const Trace seen = old.observe_one("a");
  stop_and_save();
  Client writer = client("writer");
  const Stamp written = writer.take({write("a")}).stamp;
  EXPECT_TRUE(writer.release(written));
  put_back();
  Client person = client("person");
  person.change(RaiseStampBase{Stamp{written.value + 1}});
  EXPECT_NE(person.observe_one("a").last_write, seen.last_write);
  EXPECT_GT(person.meet_changed({write("a")}, {.unchanged_since = {{0, seen.last_write}}})
                .trace.last_write,
            written);
}

// SEM 10: the session is in the backup, and continues. What was taken in it since is missing.
TEST_F(Restored, ASessionThatGoesOnIsNoProofOfWhatWasTakenInIt) {
  Client old = client("old");
  old.take({write("kept")});
  save();
  const Stamp gone = old.take({write("gone")}).stamp;
  put_back();
  catch_up();
  Client fresh = client("fresh");
  const Stamp stamp = fresh.take({write("gone")}).stamp;
  std::optional<RenewReply> reply;
  EXPECT_TRUE(eventually(
      [&] {
        const RenewRequest request{gone, 1min};
        auto renewed = old.backend().renew(old.owner(), {&request, 1}, BootClock::now() + 2s);
        if (renewed) reply = *std::move(renewed);
        return reply.has_value();
      },
      long_time));
  ASSERT_TRUE(reply);
  EXPECT_FALSE(reply->renewals.at(0)) << "renewed beside another one's";
  EXPECT_TRUE(fresh.is_live(stamp));
}

// SEM 10: a hold that was released since is back, in a session that its client keeps alive. The
// client removes it when it has noticed, and when what it holds in that session is not valid any
// more: a holder hears of the loss only after renew() has returned.
TEST_F(Restored, WhatComesBackInASessionThatGoesOnIsRemoved) {
  constexpr Duration lease = 15s;
  Client old = client("old");
  const Stamp kept = old.take({write("kept")}, {.lease = lease}).stamp;
  const Stamp back = old.take({write("back")}, {.lease = lease}).stamp;
  EXPECT_TRUE(old.renew(kept, lease));
  save();
  EXPECT_TRUE(old.release(back));
  const TimePoint renewed = BootClock::now();
  EXPECT_TRUE(old.renew(kept, lease));
  put_back();
  catch_up();
  Client fresh = client("fresh");
  EXPECT_EQ(fresh.meet_busy({write("back")}).holder, back) << "nothing is tested";
  EXPECT_TRUE(eventually(
      [&] {
        const RenewRequest request{kept, lease};
        return old.backend().renew(old.owner(), {&request, 1}, BootClock::now() + 2s).ok();
      },
      long_time));
  const std::optional<Grant> early = fresh.try_take({write("kept")});
  EXPECT_TRUE(!early || BootClock::now() >= renewed + lease) << "freed while it was valid";
  EXPECT_TRUE(eventually(
      [&] {
        EXPECT_TRUE(old.backend().sweep(soon()));
        return fresh.try_take({write("back")}).has_value();
      },
      long_time));
}

// SEM 29: a hold in a session that is in the backup may be upgraded, but not by what was known of
// its names: they reach the very versions that the client knows.
TEST_F(Restored, AnUpgradeReliesOnNothingFromBefore) {
  Client old = client("old");
  old.set_permits("a", Mode::read, 10);
  const Stamp kept = old.take({read("a")}).stamp;
  save();
  EXPECT_TRUE(old.release(old.take({read("a")}).stamp));
  put_back();
  Client fresh = client("fresh");
  const Stamp reader = fresh.take({read("a")}).stamp;
  catch_up();
  const AcquireOutcome outcome = ask(old, {write("a")}, kept);
  const Busy* const busy = std::get_if<Busy>(&outcome);
  ASSERT_NE(busy, nullptr) << test::describe(outcome);
  EXPECT_EQ(busy->holder, reader);
  EXPECT_TRUE(fresh.is_live(kept));
  EXPECT_TRUE(fresh.release(reader));
  const AcquireOutcome next = ask(old, {write("a")}, kept);
  ASSERT_TRUE(std::holds_alternative<Grant>(next)) << test::describe(next);
  EXPECT_GT(std::get<Grant>(next).stamp, kept);
}

// SEM 29: a hold that the backup does not have can't be upgraded, in a session that it has.
TEST_F(Restored, WhatIsMissingIsNotUpgraded) {
  Client old = client("old");
  old.take({write("kept")});
  save();
  const Stamp missing = old.take({read("a")}).stamp;
  put_back();
  catch_up();
  Client fresh = client("fresh");
  const Stamp stamp = fresh.take({write("a")}).stamp;
  const AcquireOutcome outcome = ask(old, {write("a")}, missing);
  EXPECT_TRUE(std::holds_alternative<Gone>(outcome)) << test::describe(outcome);
  EXPECT_TRUE(fresh.is_live(stamp));
}

}  // namespace
}  // namespace lockset::zookeeper_tests
