// SEM 29, 30: what only this store can get wrong when one hold takes the place of another: the
// sessions of both, answers that come late, connections that were cut.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/seed.h"
#include "tests/support/tcp_proxy.h"
#include "tests/zookeeper/fixture.h"
#include "tests/zookeeper/session_end.h"

namespace lockset::zookeeper_tests {
namespace {

using test::TcpProxy;

class Replacing : public ZookeeperTest {
 protected:
  void SetUp() override {
    ZookeeperTest::SetUp();
    if (!IsSkipped() && !HasFatalFailure()) proxy_ = std::make_unique<TcpProxy>(server().port());
  }
  TcpProxy& proxy() { return *proxy_; }
  // The session without holds does not ping meanwhile, for that may be the request that is held.
  [[nodiscard]] Client proxied_client() const {
    return Client(open_backend(url_through(proxy_->port(), "session_timeout=10m"), soon()).value());
  }
  // The nodes without their tokens: the records, then the holders.
  [[nodiscard]] std::vector<std::string> kinds() {
    std::vector<std::string> kinds;
    for (const std::string& trace : view().traces()) {
      const std::size_t token = trace.rfind('/') + 1;
      kinds.push_back(trace.starts_with("holds/") ? "hold" : trace.substr(0, token + 1));
    }
    return kinds;
  }
  [[nodiscard]] std::int64_t owner() {
    const std::set<std::int64_t> owners = view().owners();
    return owners.size() == 1 ? *owners.begin() : 0;
  }
  // The node that tells all clients to look for their holds.
  [[nodiscard]] std::int32_t announcements() { return raw().get(root() + "/holds")->version; }
  static void share(Client& one, Client& other) {
    one.set_permits("a", Mode::read, max_permits);
    other.reload();
  }
  // Its request stays on its way until it is delivered.
  Error ask_too_late(Client& client, const Wanted& wanted, const Token& token, Stamp replaces) {
    proxy().hold_next_request();
    const auto outcome = client.ask_once(
        wanted, {.token = token, .by = BootClock::now() + 200ms, .replaces = replaces});
    if (outcome) throw std::runtime_error("an answer: " + test::describe(outcome));
    EXPECT_EQ(outcome.error().code, Errc::indeterminate) << outcome.error().message;
    return outcome.error();
  }

 private:
  std::unique_ptr<TcpProxy> proxy_;
};

// And other clients need not look for their holds
TEST_F(Replacing, ItsNodesAreThoseOfAnyHold) {
  Client c = client();
  const Stamp first = c.take({read("a"), write("b")}).stamp;
  const std::int64_t session = owner();
  const std::int32_t before = announcements();
  EXPECT_EQ(kinds(), (std::vector<std::string>{"hold", "names/a/r", "names/b/w"}));
  const Stamp writer = c.take({write("a"), write("b")}, {.replaces = first}).stamp;
  EXPECT_EQ(kinds(), (std::vector<std::string>{"hold", "names/a/w", "names/b/w"}));
  EXPECT_EQ(owner(), session);
  const Stamp reader = c.take({read("a"), read("b")}, {.replaces = writer}).stamp;
  EXPECT_EQ(kinds(), (std::vector<std::string>{"hold", "names/a/r", "names/b/r"}));
  EXPECT_EQ(owner(), session);
  EXPECT_EQ(announcements(), before);
  EXPECT_TRUE(c.release(reader));
  EXPECT_TRUE(view().traces().empty());
}

// SEM 3: both in one request
TEST_F(Replacing, TheLargestSetOfTheLongestNames) {
  Client c = client();
  std::string rest;
  for (int i = 0; i < 125; ++i) rest += "\u00e4";  // 2 bytes, and 6 in a path
  Wanted reads, writes;
  for (std::size_t i = 0; i < max_set_size; ++i) {
    const std::string name = std::to_string(10'000 + i) + rest;
    ASSERT_EQ(name.size(), 255U);
    reads.push_back(read(name));
    writes.push_back(write(name));
  }
  const Stamp first = c.take(reads).stamp;
  const Stamp second = c.take(writes, {.replaces = first}).stamp;
  const Stamp third = c.take(reads, {.replaces = second}).stamp;
  EXPECT_EQ(view().traces().size(), 1 + max_set_size);
  EXPECT_TRUE(c.release(third));
}

// SEM 10, 29: whatever lease is asked for: it lives in the session of the old one, no shorter and
// no longer than that allows
TEST_F(Replacing, ItLivesInTheSessionOfTheOld) {
  Client c = client();
  const Grant long_read = c.take({read("a")}, {.lease = 5min});
  const std::int64_t session = owner();
  const Grant writer = c.take({write("a")}, {.lease = 2s, .replaces = long_read.stamp});
  EXPECT_EQ(writer.lease, long_read.lease);
  EXPECT_EQ(owner(), session);
  EXPECT_GT(c.holds().at(0).remaining.value(), 4min);
  EXPECT_GT(client("other").holds().at(0).remaining.value(), 4min) << "its record";
  EXPECT_GT(c.renew(writer.stamp, 2s)->lease, 4min);
  EXPECT_TRUE(c.release(writer.stamp));

  const Grant short_read = c.take({read("a")}, {.lease = 30s});
  const std::int64_t another = owner();
  EXPECT_NE(another, session);
  const Grant next = c.take({write("a")}, {.lease = 5min, .replaces = short_read.stamp});
  EXPECT_LT(next.lease, 1min) << "its session is gone sooner";
  EXPECT_EQ(owner(), another);
  EXPECT_TRUE(c.renew(next.stamp, 5min));
}

// SEM 29: a hold of another client of the application, whose session can't be used. That client
// learns of its end at the next renewal.
TEST_F(Replacing, AHoldOfAnotherClientOfTheApplication) {
  std::optional<Client> first = client();
  const Stamp old = first->take({read("a"), write("b")}).stamp;
  const std::int64_t session = owner();
  Client second = client();
  const Grant grant = second.take({write("a"), write("b")}, {.lease = 30s, .replaces = old});
  EXPECT_NE(owner(), session);
  EXPECT_EQ(view().traces().size(), 3U);
  EXPECT_FALSE(first->renew(old, 1min));
  EXPECT_FALSE(first->release(old));
  first.reset();
  EXPECT_TRUE(second.is_live(grant.stamp));
  EXPECT_TRUE(second.renew(grant.stamp, 30s));
  EXPECT_TRUE(second.release(grant.stamp));
}

// SEM 9, 29: also if one client serves both
TEST_F(Replacing, AnotherApplicationsHoldIsNotTouched) {
  const std::shared_ptr<Backend> backend = open();
  Client c(backend, "app");
  Client other(backend, "other");
  const Stamp theirs = other.take({read("a")}).stamp;
  c.meet_gone({write("a")}, {.replaces = theirs});
  EXPECT_TRUE(other.renew(theirs, 1min));
  EXPECT_EQ(kinds(), (std::vector<std::string>{"hold", "names/a/r"}));
}

// Somebody has deleted a node of it: as for a release, it is over
TEST_F(Replacing, AHoldThatIsNotWholeIsGone) {
  Client c = client();
  for (const std::string part : {"holds/", "names/a/"}) {
    const Stamp old = c.take({read("a"), write("b")}).stamp;
    for (const std::string& node : view().traces()) {
      if (node.starts_with(part)) {
        ASSERT_EQ(raw().remove(root() + "/" + node), 0);
      }
    }
    c.meet_gone({write("a"), write("b")}, {.replaces = old});
    EXPECT_FALSE(c.renew(old, 1min));
    for (const std::string& node : view().traces()) {
      EXPECT_EQ(raw().remove(root() + "/" + node), 0) << "what is left is for a person";
    }
  }
}

// SEM 29: of several that are under way at the same time exactly one is granted, and the others
// find that the hold has ended
TEST_F(Replacing, OfManyAtOnceOneWins) {
  constexpr std::size_t threads = 4;
  const std::shared_ptr<Backend> backend = open();
  Client c(backend);
  share(c, c);
  Stamp hold = c.take({read("a")}).stamp;
  for (int round = 0; round < 30 && !HasFailure(); ++round) {
    std::atomic<int> granted = 0;
    std::atomic<int> gone = 0;
    std::atomic<std::int64_t> next = 0;
    const Wanted wanted{round % 2 == 0 ? write("a") : read("a")};
    test::run_threads(threads, [&](std::size_t) {
      Client each(backend);
      const auto outcome = each.ask(wanted, {.replaces = hold});
      ASSERT_TRUE(outcome) << test::describe(outcome);
      if (const Grant* const grant = std::get_if<Grant>(&*outcome)) {
        ++granted;
        next = grant->stamp.value;
      } else if (std::holds_alternative<Gone>(*outcome)) {
        ++gone;
      }
    });
    EXPECT_EQ(granted, 1);
    EXPECT_EQ(gone, static_cast<int>(threads) - 1);
    EXPECT_EQ(view().traces().size(), 2U);
    EXPECT_FALSE(c.renew(hold, 1min));
    hold = Stamp{next};
    EXPECT_TRUE(c.renew(hold, 1min));
  }
  EXPECT_TRUE(c.release(hold));
}

// SEM 14: nobody waits for the answer any more. Its grant belongs to this client, and ends with its
// lease; the old hold is not renewed beside it.
TEST_F(Replacing, ALateGrantIsOwned) {
  Client c = proxied_client();
  for (const bool asks : {true, false}) {
    const Stamp old = c.take({read("a")}, {.lease = 5s}).stamp;
    const Token token = Token::random();
    ask_too_late(c, {write("a")}, token, old);
    EXPECT_FALSE(c.resolve(token));
    EXPECT_TRUE(c.is_live(old));
    ASSERT_EQ(proxy().deliver_held(), 1U);
    EXPECT_TRUE(eventually([&] { return kinds().back() == "names/a/w"; }));
    if (asks) {
      const std::optional<Grant> found = c.resolve(token);
      ASSERT_TRUE(found);
      EXPECT_GT(found->lease, 0s);
      EXPECT_FALSE(c.renew(old, 5s));
      EXPECT_TRUE(c.renew(found->stamp, 5s));
      EXPECT_TRUE(c.release(found->stamp));
    } else {
      EXPECT_FALSE(c.renew(old, 5s));
      EXPECT_FALSE(c.release(old));
      EXPECT_TRUE(view().becomes_empty()) << "a ghost";
    }
  }
}

// SEM 7, 12, 14: one that comes late finds that the application was taken over
TEST_F(Replacing, OneUnderWayDoesNotSurviveAReclaim) {
  Client c = proxied_client();
  const Stamp old = c.take({read("a")}).stamp;
  const Token token = Token::random();
  ask_too_late(c, {write("a")}, token, old);
  Client next = client();
  const Stamp epoch = next.take({write("@app:app")}).stamp;
  EXPECT_EQ(next.backend().reclaim("app", epoch.value, soon()).value(), 1U);
  EXPECT_EQ(proxy().deliver_held(), 1U);
  EXPECT_FALSE(c.renew(old, 1min));
  EXPECT_FALSE(c.resolve(token));
  EXPECT_EQ(view().traces().size(), 2U) << "those of the hold on the application id";
}

// SEM 14: the earlier attempt has won, which nobody knows: the hold is gone, and that is no
// contention with the application's own hold
TEST_F(Replacing, AnEarlierAttemptThatWonIsNoContention) {
  Client c = proxied_client();
  const Stamp old = c.take({read("a")}).stamp;
  const Token token = Token::random();
  proxy().far(1s);
  const auto first =
      c.ask_once({write("a")}, {.token = token, .by = BootClock::now() + 300ms, .replaces = old});
  ASSERT_FALSE(first) << test::describe(first);
  EXPECT_EQ(first.error().code, Errc::indeterminate);
  c.meet_gone({write("a")}, {.replaces = old});
  proxy().heal();
  const std::optional<Grant> found = c.resolve(token);
  ASSERT_TRUE(found);
  EXPECT_TRUE(c.release(found->stamp));
}

// SEM 10, 14: the old hold was seen after the request, over a later connection of its session. So
// the request has failed, even if it still arrives: the hold could be renewed.
TEST_F(Replacing, WhatComesOverAnEarlierConnectionIsTooLate) {
  Client c = proxied_client();
  const Stamp old = c.take({read("a")}).stamp;
  EXPECT_TRUE(c.renew(old, 1min));
  const Token token = Token::random();
  ask_too_late(c, {write("a")}, token, old);
  proxy().cut_all();
  const auto renewed = [&] {
    const RenewRequest request{old, 1min};
    const auto reply = c.backend().renew(c.owner(), {&request, 1}, BootClock::now() + 2s);
    return reply && reply->renewals.at(0);
  };
  ASSERT_TRUE(eventually(renewed));
  proxy().deliver_held();
  EXPECT_FALSE(c.resolve(token));
  EXPECT_TRUE(c.is_live(old));
  EXPECT_TRUE(c.renew(old, 1min));
  const Grant writer = c.take({write("a")}, {.replaces = old});
  EXPECT_FALSE(c.renew(old, 1min));
  EXPECT_TRUE(c.renew(writer.stamp, 1min));
}

// A session that lost a connection gets no new holds (SEM 8), but its own may be replaced: with
// what is read over the new connection.
TEST_F(Replacing, InASessionThatWasCut) {
  Client c = proxied_client();
  const Stamp old = c.take({read("a"), write("b")}, {.lease = 2min}).stamp;
  const std::int64_t session = owner();
  proxy().cut_all();
  std::optional<AcquireOutcome> outcome;
  std::string said;
  EXPECT_TRUE(eventually([&] {
    auto answer = c.ask({write("a"), write("b")}, {.lease = 2min, .replaces = old});
    if (answer) {
      outcome = *std::move(answer);
    } else {
      EXPECT_TRUE(answer.error().retryable() || answer.error().may_have_applied());
      said += answer.error().message + "\n";
    }
    return outcome.has_value();
  }));
  ASSERT_TRUE(outcome);
  ASSERT_TRUE(std::holds_alternative<Grant>(*outcome)) << test::describe(*outcome) << "\n" << said;
  EXPECT_EQ(owner(), session);
  const Stamp writer = std::get<Grant>(*outcome).stamp;
  EXPECT_TRUE(c.renew(writer, 2min));
  EXPECT_TRUE(c.take({read("a"), read("b")}, {.replaces = writer}).stamp);
}

// SEM 10, 29: the session ends while the request is on its way: neither is there
TEST_F(Replacing, NothingIsLeftOfASessionThatEndsMeanwhile) {
  Client c = proxied_client();
  const Stamp old = c.take({read("a"), read("b")}, {.lease = 30s}).stamp;
  const std::int64_t session = owner();
  proxy().hold_next_request();
  std::optional<Result<AcquireOutcome>> outcome;
  {
    const std::jthread asking([&] {
      outcome.emplace(c.ask({write("a"), write("b")}, {.lease = 30s, .replaces = old}));
    });
    EXPECT_TRUE(eventually([&] { return proxy().caught(); }));
    proxy().refuse();
    test::end_session(server().port(), session);
    EXPECT_TRUE(view().traces().empty());
    proxy().deliver_held();
    proxy().heal();
  }
  if (*outcome) {
    EXPECT_TRUE(std::holds_alternative<Gone>(**outcome)) << test::describe(*outcome);
  } else {
    EXPECT_TRUE(outcome->error().may_have_applied() || outcome->error().retryable())
        << outcome->error().message;
  }
  EXPECT_TRUE(view().traces().empty());
  c.meet_gone({write("a"), write("b")}, {.replaces = old});
  Client other = client("other");
  EXPECT_TRUE(other.take({write("a"), write("b")}).stamp);
}

// SEM 20: replies that are lost, requests that come late and connections that break, while a
// program converts its hold and others try to get the name: none of them gets it while it counts as
// held.
TEST_F(Replacing, InBadWeatherNobodyElseHoldsWhatIsValid) {
  constexpr int enough = 30;
  Locks mine = lockset::open(url_through(proxy().port()),
                             {.app = "app", .lease = 4s, .io_timeout = 1s, .store_patience = 3s})
                   .value();
  mine.set_permits("a", Mode::read, max_permits).value();
  std::atomic<std::int64_t> held = 0;
  std::atomic<std::int64_t> written = 0;  // held as write
  std::atomic<int> conversions = 0;
  std::atomic<int> others = 0;
  std::atomic<bool> over = false;
  const auto convert = [&](Stamp stamp) {
    // Until the first trouble, or the end.
    for (bool up = true; mine.valid(stamp) && conversions < enough; up = !up) {
      if (!up) written = 0;  // from the call on
      const auto next = up ? mine.try_upgrade_locks(stamp) : mine.downgrade_locks(stamp);
      if (!next.ok() || !*next) break;
      ++conversions;
      held = next->value;
      if (up) written = next->value;
      stamp = *next;
      test::linger(20ms);
    }
    written = 0;
    held = 0;
    static_cast<void>(mine.release_locks(stamp).ok());
    test::linger(20ms);
  };
  proxy().weather({.reset = 0.04,
                   .cut = 0.08,
                   .hold = 0.08,
                   .shortest_hold = 20ms,
                   .longest_hold = 1500ms,
                   .seed = test::test_seed()});
  test::run_threads(3, [&](std::size_t i) {
    if (i == 0) {
      const TimePoint until = BootClock::now() + 3 * long_time;
      while (conversions < enough && BootClock::now() < until && !HasFailure()) {
        const auto stamp = mine.try_locks({read("a")});
        if (!stamp.ok() || !*stamp) continue;
        held = stamp->value;
        convert(*stamp);
      }
      over = true;
      return;
    }
    Client other = client("other");
    const Mode mode = i == 1 ? Mode::write : Mode::read;
    while (!over) {
      const TimePoint asked = BootClock::now();
      const std::optional<Grant> grant = other.try_take({{"a", mode}}, {.lease = 30s});
      if (grant) {
        ++others;
        const Stamp stamp{mode == Mode::write ? held : written};
        EXPECT_FALSE(mine.valid(stamp)) << stamp.value << " beside " << grant->stamp.value;
        EXPECT_TRUE(other.release(grant->stamp));
      }
      test::pause_after_try(asked);
    }
  });
  RecordProperty("others", others.load());
  RecordProperty("hits", static_cast<int>(proxy().hits()));
  EXPECT_GE(conversions, enough);
  EXPECT_GT(others, 0);
  proxy().heal();
  EXPECT_TRUE(view().becomes_empty()) << "a ghost";
}

}  // namespace
}  // namespace lockset::zookeeper_tests
