// SEM 9, 10, 14 on a real network between client and server: replies that are cut off, and requests
// that arrive when nobody waits for them any more.
#include <thread>

#include "tests/conformance/server_suite.h"

namespace lockset::conformance {
namespace {

// How many bytes of a reply get through before the connection ends.
constexpr std::size_t cuts[] = {0, 1, 4, 5, 7, 20, 60};
constexpr TcpProxy::Ending endings[] = {TcpProxy::Ending::reset, TcpProxy::Ending::close};

std::string describe_cut(std::size_t pass, TcpProxy::Ending ending) {
  return std::to_string(pass) + " bytes, then " +
         (ending == TcpProxy::Ending::reset ? "a reset" : "an end");
}

class LostReply : public ServerConformance {
 protected:
  // What is lost is the reply to a change, unless a test says otherwise.
  void SetUp() override {
    ServerConformance::SetUp();
    const std::string_view change = harness().harness_traits().changes_by;
    if (!change.empty() && !IsSkipped() && !HasFatalFailure()) proxy().catch_only(change);
  }
  // Runs once for each cut, each time on a separate, warm client.
  void for_each_cut(const std::function<void(Client& cut_off)>& body) {
    for (const TcpProxy::Ending ending : endings) {
      for (const std::size_t pass : cuts) {
        SCOPED_TRACE(describe_cut(pass, ending));
        Client c(proxied());
        warm_up(c, {write("a"), read("b")});
        next_cut_ = [this, pass, ending] { proxy().cut_next_reply(pass, ending); };
        body(c);
        // The damage is limited to that call.
        const Grant next = c.take({write("a"), write("next")});
        EXPECT_TRUE(c.release(next.stamp));
        EXPECT_TRUE(space().look().empty());
      }
    }
  }
  // The reply to this call is cut. A short reply arrives whole, and then the connection ends a
  // little later, but not during the next call.
  template <class Call>
  auto cut(Call call) {
    next_cut_();
    auto result = call();
    EXPECT_TRUE(eventually([&] { return proxy().caught(); })) << "nothing was cut";
    return result;
  }

  // A changing call whose reply did not arrive whole.
  template <class T>
  static void expect_in_doubt(const Result<T>& result) {
    if (!result) {
      EXPECT_EQ(result.error().code, Errc::indeterminate) << result.error().message;
    }
  }

 private:
  std::function<void()> next_cut_;
};

// SEM 14: the reply of a grant is lost: indeterminate, and the token finds it
TEST_P(LostReply, AGrantIsFoundByItsToken) {
  if (lacks_server()) return;
  if (skip_unless(traits().holds_outlive_connections, "holds that outlive connections")) return;
  int lost = 0;
  // The lease of the warm session: another lease needs another session, over a new connection.
  const Duration lease = traits().session_leases ? Duration(1min) : Duration(30s);
  for_each_cut([&](Client& c) {
    const Token token = Token::random();
    const Result<AcquireOutcome> outcome = cut([&] {
      return c.ask_once({write("a"), read("b")}, {.lease = lease, .token = token});
    });
    expect_in_doubt(outcome);
    if (!outcome) ++lost;
    const std::optional<Grant> found = c.resolve(token);
    ASSERT_TRUE(found) << "it was granted";
    if (outcome) {
      EXPECT_EQ(std::get<Grant>(*outcome).stamp, found->stamp);
    }
    EXPECT_GT(found->lease, 10s);
    EXPECT_LE(found->lease, lease + clock_grain);
    ASSERT_EQ(space().look().size(), 1U);
    EXPECT_EQ(space().look()[0].stamp, found->stamp);
    EXPECT_TRUE(c.release(found->stamp));
  });
  EXPECT_GE(lost, 6) << "hardly a reply was lost";
}

// SEM 14: the same for a busy answer, which leaves nothing
TEST_P(LostReply, ABusyAnswerLeavesNothing) {
  if (lacks_server()) return;
  proxy().catch_only({});
  for_each_cut([&](Client& c) {
    Client holder = client("holder");
    const Grant grant = holder.take({write("b")});
    const Token token = Token::random();
    const Result<AcquireOutcome> outcome = cut([&] {
      return c.ask_once({write("a"), read("b")}, {.token = token});
    });
    expect_in_doubt(outcome);
    if (outcome) {
      EXPECT_TRUE(std::holds_alternative<Busy>(*outcome)) << test::describe(outcome);
    }
    EXPECT_FALSE(c.resolve(token));
    EXPECT_EQ(space().look().size(), 1U);
    EXPECT_TRUE(holder.release(grant.stamp));
  });
}

// SEM 9, 14: the reply of a release is lost: the hold ended, exactly once
TEST_P(LostReply, AReleaseIsDoneOnce) {
  if (lacks_server()) return;
  for_each_cut([&](Client& c) {
    const Grant grant = c.take({write("a")});
    const Result<bool> released =
        cut([&] { return c.backend().release(c.known(grant.stamp), c.owner().app, soon()); });
    expect_in_doubt(released);
    if (released) {
      EXPECT_TRUE(*released);
    }
    EXPECT_TRUE(space().look().empty());
    EXPECT_FALSE(c.release(grant.stamp));
  });
}

// SEM 10, 14: the reply of a renewal is lost: it was done, and can be repeated
TEST_P(LostReply, ARenewalIsDone) {
  if (lacks_server()) return;
  if (skip_unless(traits().holds_outlive_connections, "holds that outlive connections")) return;
  for_each_cut([&](Client& c) {
    const Token token = Token::random();
    const Grant grant = c.take({write("a")}, {.lease = 10s, .token = token});
    const TimePoint first_end = BootClock::now() + grant.lease;  // or slightly earlier
    if (traits().session_leases) linger(300ms);
    const RenewRequest request{grant.stamp, 60s};
    const Result<RenewReply> reply = cut([&] {
      return c.backend().renew(c.owner(), {&request, 1}, soon());
    });
    expect_in_doubt(reply);
    // If a renewal restores the lease of the grant, the hold ends later than without it.
    EXPECT_TRUE(eventually([&] {
      const TimePoint asked = BootClock::now();
      const Duration left = c.resolve(token).value().lease;
      return traits().session_leases ? asked + left > first_end : left > 30s;
    }));
    EXPECT_TRUE(c.renew(grant.stamp, 60s));
    EXPECT_TRUE(c.release(grant.stamp));
  });
}

// The backend repeats a call that only reads on another connection: nothing was changed
TEST_P(LostReply, AQuestionIsSimplyAskedAgain) {
  if (lacks_server()) return;
  proxy().catch_only({});
  for_each_cut([&](Client& c) {
    const Token token = Token::random();
    const Grant grant = c.take({write("a")}, {.token = token});
    const Result<std::optional<Grant>> found =
        cut([&] { return c.backend().resolve(c.known(token), soon()); });
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->value().stamp, grant.stamp);
    const Result<SpaceConfig> config = cut([&] { return c.backend().load_config(soon()); });
    EXPECT_TRUE(config) << config.error().message;
    const Result<Inspection> seen = cut([&] { return c.backend().inspect({}, soon()); });
    EXPECT_TRUE(seen) << seen.error().message;
    EXPECT_EQ(c.resolve(token).value().stamp, grant.stamp);
    EXPECT_TRUE(c.release(grant.stamp));
  });
}

// SEM 14: the core looks the reply up: one proven hold, and only one
TEST_P(LostReply, AnAcquireIsResolved) {
  if (lacks_server()) return;
  for (const TcpProxy::Ending ending : endings) {
    const auto events = std::make_shared<EventCounts>();
    // A busy machine may take seconds to connect again.
    Locks mine = proxied_locks({.io_timeout = 30s, .refresh_config = 1h, .observer = events});
    const Wanted wanted = {write("a"), read("b")};
    EXPECT_TRUE(mine.acquire(wanted).value().release());
    proxy().cut_next_reply(0, ending);
    Hold hold = mine.acquire(wanted, {.wait = 1min}).value();
    EXPECT_TRUE(proxy().caught());
    EXPECT_GE(events->resolved, 1);
    EXPECT_TRUE(hold.valid());
    ASSERT_EQ(space().look().size(), 1U) << "a ghost beside the hold, or no hold";
    EXPECT_EQ(space().look()[0].stamp, hold.stamp());
    EXPECT_TRUE(hold.release());
    EXPECT_TRUE(space().look().empty());

    // A single try works too. Before it, a new connection replaces the broken one.
    EXPECT_TRUE(mine.acquire(wanted).value().release());
    proxy().cut_next_reply(0, ending);
    std::optional<Hold> tried = mine.try_acquire({write("a")}).value();
    EXPECT_TRUE(proxy().caught());
    ASSERT_TRUE(tried);
    EXPECT_EQ(space().look().at(0).stamp, tried->stamp());
    EXPECT_TRUE(tried->release());
    EXPECT_TRUE(space().look().empty());
  }
}

// SEM 27, 28: an observation is asked for again, and a condition is not broken by an own grant
TEST_P(LostReply, AnAcquireOnAConditionIsResolved) {
  if (lacks_server()) return;
  if (skip_unless(traits().observing, "observing")) return;
  for (const TcpProxy::Ending ending : endings) {
    Locks mine = proxied_locks({.io_timeout = 30s, .refresh_config = 1h});
    const Wanted wanted = {write("a"), read("b")};
    EXPECT_TRUE(mine.acquire(wanted).value().release());
    EXPECT_TRUE(mine.observe({"a", "b"}));
    proxy().cut_next_reply(0, ending);
    const Observation seen = mine.observe({"a", "b"}).value();
    EXPECT_TRUE(proxy().caught());
    EXPECT_TRUE(mine.validate(seen).value());
    proxy().cut_next_reply(0, ending);
    Hold hold = mine.acquire(wanted, {.wait = 1min, .unchanged_since = seen}).value();
    EXPECT_TRUE(proxy().caught());
    EXPECT_TRUE(hold.valid());
    EXPECT_EQ(space().look().size(), 1U);
    EXPECT_TRUE(hold.release());
    const Result<Hold> again = mine.acquire(wanted, {.unchanged_since = seen});
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code, Errc::changed);
  }
}

// SEM 14, 29, 30: both ways; in the store and in the program there is one hold
TEST_P(LostReply, AConversionIsResolved) {
  if (lacks_server()) return;
  if (skip_unless(traits().converting, "upgrades and downgrades")) return;
  for (const TcpProxy::Ending ending : endings) {
    Locks mine = proxied_locks({.lease = 2min, .io_timeout = 30s, .refresh_config = 1h});
    Hold hold = mine.acquire({read("a"), write("b")}).value();
    const auto convert = [&](bool up, bool cut) {
      const Stamp old = hold.stamp();
      const std::stop_token lost = hold.lost();
      if (cut) proxy().cut_next_reply(0, ending);
      std::optional<Hold> next = up ? hold.try_upgrade().value() : hold.downgrade().value();
      EXPECT_TRUE(!cut || proxy().caught());
      ASSERT_TRUE(next);
      EXPECT_TRUE(next->valid());
      EXPECT_FALSE(hold.valid());
      EXPECT_FALSE(lost.stop_requested());
      EXPECT_GT(next->stamp(), old);
      ASSERT_EQ(space().look().size(), 1U) << "both, or neither";
      EXPECT_EQ(space().look()[0].stamp, next->stamp());
      hold = std::move(*next);
    };
    // Before each cut, connections and statements become known.
    convert(true, false);
    convert(false, false);
    convert(true, true);
    convert(false, false);
    convert(true, false);
    convert(false, true);
    EXPECT_TRUE(hold.release());
    EXPECT_TRUE(space().look().empty());
  }
}

// SEM 14, 29: the upgrade was granted, the reply lost, and the server can't be reached. When it is
// back, the hold is lost, and what took its place is given back long before its lease ends
TEST_P(LostReply, AnUpgradeThatNobodyLearnedOfIsGivenBack) {
  if (lacks_server()) return;
  if (skip_unless(traits().converting, "upgrades and downgrades")) return;
  if (skip_unless(traits().holds_outlive_connections, "holds that outlive connections")) return;
  Locks mine = proxied_locks({.lease = 10min, .refresh_config = 1h});
  Hold hold = mine.acquire({read("a")}).value();
  hold = hold.try_upgrade().value().value();  // from now on connections and statements are known
  hold = hold.downgrade().value().value();
  proxy().cut_next_reply(0, TcpProxy::Ending::reset_all);
  proxy().refuse();
  const auto upgraded = hold.try_upgrade();
  ASSERT_FALSE(upgraded.ok());
  EXPECT_TRUE(proxy().caught());
  EXPECT_EQ(upgraded.error().code, Errc::indeterminate) << upgraded.error().message;
  EXPECT_TRUE(hold.valid()) << "in the store it is at least as much";
  ASSERT_EQ(space().look().size(), 1U);
  EXPECT_EQ(space().look()[0].items, Wanted{write("a")}) << "it was not upgraded";
  proxy().heal();
  EXPECT_TRUE(eventually([&] { return space().look().empty(); })) << "a ghost";
  EXPECT_TRUE(eventually([&] { return hold.lost().stop_requested(); }));
  EXPECT_EQ(hold.lost_reason(), LostReason::gone);
}

// SEM 14, 30: the same with a downgrade: others may read, so it counts as lost at once
TEST_P(LostReply, ADowngradeThatNobodyLearnedOfIsGivenBack) {
  if (lacks_server()) return;
  if (skip_unless(traits().converting, "upgrades and downgrades")) return;
  if (skip_unless(traits().holds_outlive_connections, "holds that outlive connections")) return;
  Locks mine = proxied_locks({.lease = 10min, .refresh_config = 1h});
  Hold hold = mine.acquire({write("a")}).value();
  hold = hold.downgrade().value().value();  // from now on connections and statements are known
  hold = hold.try_upgrade().value().value();
  proxy().cut_next_reply(0, TcpProxy::Ending::reset_all);
  proxy().refuse();
  const auto downgraded = hold.downgrade();
  ASSERT_FALSE(downgraded.ok());
  EXPECT_TRUE(proxy().caught());
  EXPECT_EQ(downgraded.error().code, Errc::indeterminate) << downgraded.error().message;
  EXPECT_FALSE(hold.valid());
  EXPECT_TRUE(eventually([&] { return hold.lost().stop_requested(); }));
  EXPECT_EQ(hold.lost_reason(), LostReason::in_doubt);
  ASSERT_EQ(space().look().size(), 1U);
  EXPECT_EQ(space().look()[0].items, Wanted{read("a")}) << "it was not downgraded";
  proxy().heal();
  EXPECT_TRUE(eventually([&] { return space().look().empty(); })) << "a ghost";
}

// SEM 9: "If a retry after a lost reply finds the hold gone, it is a success if validity had not
// ended."
TEST_P(LostReply, AReleaseIsASuccess) {
  if (lacks_server()) return;
  for (const TcpProxy::Ending ending : endings) {
    // A client of sessions asks on its other connection, too: sometimes that one is caught.
    bool caught = false;
    for (int tries = 0; !caught && tries < 20; ++tries) {
      Locks mine = proxied_locks({.lease = 1min, .refresh_config = 1h});
      Hold hold = mine.acquire({write("a"), read("b")}).value();
      proxy().cut_next_reply(0, ending);
      const Status released = hold.release();
      caught = proxy().caught();
      EXPECT_TRUE(released) << released.error().message;
      EXPECT_TRUE(space().look().empty());
    }
    EXPECT_TRUE(caught);
  }
}

// SEM 10: a hold survives lost replies of its renewals
TEST_P(LostReply, AHoldSurvivesLostRenewals) {
  if (lacks_server()) return;
  if (skip_unless(traits().holds_outlive_connections, "holds that outlive connections")) return;
  const auto events = std::make_shared<EventCounts>();
  // Long enough to reconnect on a busy machine.
  Locks mine = proxied_locks({.lease = 15s, .refresh_config = 1h, .observer = events});
  Hold hold = mine.acquire({write("a")}).value();
  ASSERT_TRUE(eventually([&] { return events->renewed >= 1; }, 2 * patience));
  for (int i = 0; i < 2; ++i) {
    const int renewed = events->renewed;
    proxy().cut_next_reply();
    ASSERT_TRUE(eventually([&] { return proxy().caught(); }, 2 * patience));
    ASSERT_TRUE(eventually([&] { return events->renewed > renewed; }, 2 * patience));
    ASSERT_TRUE(hold.valid());
  }
  EXPECT_EQ(events->lost, 0);
  EXPECT_TRUE(hold.release());
}

// SEM 14: the set was granted, the reply lost, and the server can't be reached: an error. The hold
// is given back when the server is back, long before its lease ends
TEST_P(LostReply, WhatNobodyLearnedOfIsGivenBack) {
  if (lacks_server()) return;
  if (skip_unless(traits().holds_outlive_connections, "holds that outlive connections")) return;
  Locks mine = proxied_locks({.lease = 10min, .store_patience = 300ms, .refresh_config = 1h});
  EXPECT_TRUE(mine.acquire({write("a")}).value().release());
  proxy().cut_next_reply(0, TcpProxy::Ending::reset_all);
  proxy().refuse();
  const Result<Hold> hold = mine.acquire({write("a")}, {.wait = 5s});
  ASSERT_FALSE(hold);
  EXPECT_TRUE(hold.error().retryable() || hold.error().may_have_applied()) << hold.error().message;
  EXPECT_TRUE(proxy().caught());
  EXPECT_EQ(space().look().size(), 1U);
  proxy().heal();
  EXPECT_TRUE(eventually([&] { return space().look().empty(); })) << "a ghost";
  EXPECT_TRUE(mine.acquire({write("a")}).value().release());
}

// SEM 14: a request that arrives after its caller gave up: its hold ends with its lease, and
// excludes others until then
TEST_P(LostReply, ALateGrantEndsWithItsLease) {
  if (lacks_server()) return;
  if (skip_unless(traits().holds_outlive_connections, "holds that outlive connections")) return;
  Client c(proxied());
  warm_up(c, {write("a"), write("b")});
  // If a lease is a session, its connection counts too.
  constexpr Duration lease = 5s;
  EXPECT_TRUE(c.release(c.take({write("a"), write("b")}, {.lease = lease}).stamp));
  const Token token = Token::random();
  proxy().hold_next_request();
  const Stopwatch asking;
  const TimePoint by = asking.began() + 300ms;
  const Result<AcquireOutcome> outcome =
      c.ask_once({write("a"), write("b")}, {.lease = lease, .token = token, .by = by});
  EXPECT_LT(asking.elapsed(), 300ms + scheduling);
  ASSERT_FALSE(outcome) << test::describe(outcome);
  EXPECT_EQ(outcome.error().code, Errc::indeterminate) << outcome.error().message;
  EXPECT_FALSE(c.resolve(token)) << "it has not arrived yet";

  // The lease counts from the request's arrival at the store. If it is a session, whose life an old
  // request does not prolong, it counts from the sending.
  const Stopwatch delivery;
  const TimePoint delivered = traits().session_leases ? asking.began() : delivery.began();
  ASSERT_EQ(proxy().deliver_held(), 1U);
  std::optional<Grant> found;
  ASSERT_TRUE(eventually([&] { return (found = c.resolve(token)).has_value(); }));
  Client other = client("other");
  std::optional<Grant> next = other.try_take({write("b")});
  if (BootClock::now() < delivered + lease) {
    EXPECT_FALSE(next) << "both were granted";
  }
  ASSERT_TRUE(
      eventually([&] { return next || (next = other.try_take({write("b")})); }, 2 * patience));
  EXPECT_GE(BootClock::now(), delivered + lease - clock_grain);
  EXPECT_LT(delivery.elapsed(), lease + 3s + harness().harness_traits().coarse_by);
  EXPECT_GT(next->stamp, found->stamp);
  EXPECT_EQ(space().look().size(), 1U);
}

// SEM 4, 14: the request comes too late, because another client holds the set
TEST_P(LostReply, ALateRequestIsNotGrantedBesideAnother) {
  if (lacks_server()) return;
  Client c(proxied());
  warm_up(c, {write("a")});
  const Token token = Token::random();
  proxy().hold_next_request();
  ASSERT_FALSE(c.ask_once({write("a")}, {.token = token, .by = BootClock::now() + 200ms}));
  Client other = client("other");
  const Grant grant = other.take({write("a")});
  const std::size_t answered = proxy().round_trips();
  ASSERT_EQ(proxy().deliver_held(), 1U);
  ASSERT_TRUE(eventually([&] { return proxy().round_trips() > answered; }));
  EXPECT_FALSE(c.resolve(token));
  ASSERT_EQ(space().look().size(), 1U);
  EXPECT_EQ(space().look()[0].stamp, grant.stamp);
}

// SEM 14: the core gives back a late grant
TEST_P(LostReply, ALateGrantIsGivenBack) {
  if (lacks_server()) return;
  Locks mine =
      proxied_locks({.lease = 10min, .io_timeout = 1s, .store_patience = 1s, .refresh_config = 1h});
  EXPECT_TRUE(mine.acquire({write("a")}).value().release());
  proxy().hold_next_request();
  const Result<Hold> hold = mine.acquire({write("a")}, {.wait = 1s});
  // The core may have tried again and succeeded: then this is an ordinary hold.
  if (!hold) {
    EXPECT_TRUE(hold.error().may_have_applied() || hold.error().retryable() ||
                hold.error().code == Errc::timeout)
        << hold.error().message;
  }
  EXPECT_TRUE(proxy().caught());
  const std::size_t answered = proxy().round_trips();
  ASSERT_EQ(proxy().deliver_held(), 1U);
  ASSERT_TRUE(eventually([&] { return proxy().round_trips() > answered; }));
  const std::size_t kept = hold ? 1 : 0;
  EXPECT_TRUE(eventually([&] { return space().look().size() <= kept; }));
  if (!hold) {
    EXPECT_TRUE(eventually([&] {
      const auto next = mine.try_acquire({write("a")});
      // The dropped connection may be used once more.
      EXPECT_TRUE(next.ok() || next.error().retryable()) << next.error().message;
      return next.ok() && next->has_value();
    }));
  }
}

// SEM 9: a release that arrives late touches no other hold
TEST_P(LostReply, ALateReleaseTouchesNobodyElse) {
  if (lacks_server()) return;
  if (skip_unless(traits().holds_outlive_connections, "holds that outlive connections")) return;
  Client c(proxied());
  warm_up(c, {write("a")});
  const Grant first = c.take({write("a")});
  proxy().hold_next_request();
  const Result<bool> released =
      c.backend().release(c.known(first.stamp), c.owner().app, BootClock::now() + 200ms);
  ASSERT_FALSE(released);
  EXPECT_EQ(released.error().code, Errc::indeterminate);
  // Another hold of the same application on the same name.
  ASSERT_TRUE(c.release(first.stamp));
  const Grant second = c.take({write("a")});
  const std::size_t answered = proxy().round_trips();
  ASSERT_EQ(proxy().deliver_held(), 1U);
  ASSERT_TRUE(eventually([&] { return proxy().round_trips() > answered; }));
  EXPECT_TRUE(c.is_live(second.stamp));
  EXPECT_TRUE(c.release(second.stamp));
}

// SEM 14, 29: a conversion that arrives late finds that its hold has ended, and grants nothing
TEST_P(LostReply, ALateConversionGrantsNothing) {
  if (lacks_server()) return;
  if (skip_unless(traits().converting, "upgrades and downgrades")) return;
  if (skip_unless(traits().holds_outlive_connections, "holds that outlive connections")) return;
  Client c(proxied());
  Stamp old = c.take({read("a"), read("b")}).stamp;  // connections and statements become known
  old = c.take({write("a"), write("b")}, {.replaces = old}).stamp;
  old = c.take({read("a"), read("b")}, {.replaces = old}).stamp;
  const Token token = Token::random();
  proxy().hold_next_request();
  const Result<AcquireOutcome> outcome = c.ask_once(
      {write("a"), write("b")}, {.token = token, .by = BootClock::now() + 200ms, .replaces = old});
  ASSERT_FALSE(outcome) << test::describe(outcome);
  EXPECT_EQ(outcome.error().code, Errc::indeterminate) << outcome.error().message;
  EXPECT_TRUE(c.is_live(old)) << "it has not arrived yet";
  ASSERT_TRUE(c.release(old));
  const std::size_t answered = proxy().round_trips();
  ASSERT_EQ(proxy().deliver_held(), 1U);
  ASSERT_TRUE(eventually([&] { return proxy().round_trips() > answered; }));
  EXPECT_FALSE(c.resolve(token));
  EXPECT_TRUE(space().look().empty());
}

// SEM 10: a renewal that arrives late brings nothing back
TEST_P(LostReply, ALateRenewalRevivesNothing) {
  if (lacks_server()) return;
  Client c(proxied());
  warm_up(c, {write("a")});
  const Grant first = c.take({write("a")}, {.lease = 2s});
  const RenewRequest request{first.stamp, 1min};
  proxy().hold_next_request();
  ASSERT_FALSE(c.backend().renew(c.owner(), {&request, 1}, BootClock::now() + 200ms));
  Client other = client("other");
  std::optional<Grant> next;
  ASSERT_TRUE(eventually([&] { return (next = other.try_take({write("a")})).has_value(); }));
  const std::size_t answered = proxy().round_trips();
  const std::size_t delivered = proxy().deliver_held();
  // If leases are sessions, the server hung up when the session ended, and the request can't
  // arrive.
  EXPECT_TRUE(delivered == 1 || (delivered == 0 && c.backend().traits().session_leases));
  // A client that has given a session up has hung up itself, and hears no answer.
  EXPECT_TRUE(eventually([&] {
    return delivered == 0 || proxy().round_trips() > answered ||
           !c.backend().traits().holds_outlive_connections;
  }));
  ASSERT_EQ(space().look().size(), 1U);
  EXPECT_EQ(space().look()[0].stamp, next->stamp);
}

LOCKSET_CONFORMANCE_SUITE(LostReply);

}  // namespace
}  // namespace lockset::conformance
