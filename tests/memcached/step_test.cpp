// The rules, without a server: time, registering again, and what a longer lease has to wait for.
#include "backends/memcached/step.h"

#include <gtest/gtest.h>

#include "tests/support/client.h"

namespace lockset::memcached {
namespace {

using namespace std::chrono_literals;

std::int64_t us(Duration duration) {
  return std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
}

// A client that knows the time only so well: it lies between these.
Moment between(Duration lower, Duration upper) { return {"p", us(lower), us(upper), us(lower)}; }

struct Owned {
  LockSet set;
  Owner owner{.app = "app", .instance = "i", .epoch = 0, .label = "l"};
  Token token = Token::random();

  explicit Owned(test::Wanted wanted) : set(test::make_set(std::move(wanted))) {}
  [[nodiscard]] HoldRef ref(Stamp stamp) const {
    HoldRef hold(stamp);
    hold.token = token;
    hold.set = &set;
    hold.owner = &owner;
    return hold;
  }
};

Result<AcquireOutcome> ask(Step& step, const Owned& what, Duration lease) {
  std::vector<std::uint32_t> permits;
  for (const LockRequest& item : what.set.items()) {
    permits.push_back(step.state.config.permits_of(item.name).of(item.mode));
  }
  AcquireRequest request;
  request.set = &what.set;
  request.permits = permits;
  request.config_version = step.state.config.version;
  request.token = what.token;
  request.owner = &what.owner;
  request.lease = lease;
  return step.acquire(request);
}

State new_state() {
  State state;
  state.config.version = 1;
  return state;
}

// SEM 10, 20: the holder counts from when it asked; whoever looks, however badly it knows the time,
// sees the hold at least that long.
TEST(Step, NobodySeesALeaseEndEarly) {
  constexpr Duration lease = 10s;
  // It was 100 s when the holder asked. Both knew that only roughly.
  for (const Duration holder_error : {0ms, 400ms, 2000ms}) {
    for (const Duration looker_error : {0ms, 999ms, 5000ms}) {
      const Owned mine({write("a")});
      Step holder(new_state(), between(100s - holder_error, 100s + holder_error));
      ASSERT_TRUE(std::holds_alternative<Grant>(ask(holder, mine, lease).value()));
      const Owned other({write("a")});
      const Duration just_before = 100s + lease - 1us;
      Step looker(holder.state, between(just_before - looker_error, just_before + looker_error));
      EXPECT_TRUE(std::holds_alternative<Busy>(ask(looker, other, lease).value()));
      EXPECT_EQ(looker.sweep(), 0U);
      const Duration after = 100s + lease + holder_error + looker_error;
      Step late(holder.state, between(after - looker_error, after + looker_error));
      EXPECT_TRUE(std::holds_alternative<Grant>(ask(late, other, lease).value()));
    }
  }
}

class Registering : public testing::Test {
 protected:
  // A space that was lost, in quarantine until 200 s.
  Registering() : step_(lost(), between(100s, 100s)) {}
  static State lost() {
    State state = new_state();
    state.quarantine_us = us(200s);
    return state;
  }
  std::optional<Renewal> renew(const Owned& what, Stamp stamp) {
    return renew(step_, what, what.ref(stamp));
  }
  // As the core does.
  static std::optional<Renewal> renew(Step& step, const Owned& what, const HoldRef& hold) {
    const RenewRequest request{hold, 10s};
    const RenewReply reply = step.renew(what.owner, {&request, 1});
    if (!reply.may_be_forgotten(0)) return reply.renewals.at(0);
    EXPECT_FALSE(reply.renewals.at(0));
    const std::vector<std::uint32_t> permits(hold.set->items().size(), 1);
    const ReregisterOutcome outcome =
        step.reregister({request, permits, step.state.config.version});
    const auto* renewal = std::get_if<Renewal>(&outcome);
    return renewal != nullptr ? std::optional(*renewal) : std::nullopt;
  }
  Step step_;
};

TEST_F(Registering, ALivingHolderComesBackAndNothingIsGranted) {
  const Owned mine({write("a"), read("b")});
  EXPECT_TRUE(renew(mine, Stamp{50}));
  EXPECT_TRUE(renew(mine, Stamp{50})) << "a second time";
  ASSERT_EQ(step_.state.holds.size(), 1U);
  EXPECT_EQ(step_.state.last_stamp, Stamp{50});
  EXPECT_EQ(ask(step_, Owned({write("c")}), 5s).error().code, Errc::unavailable);
}

TEST_F(Registering, NotAfterTheQuarantine) {
  Step later(lost(), between(200s, 200s));
  const Owned mine({write("a")});
  EXPECT_FALSE(renew(later, mine, mine.ref(Stamp{50})));
  // Not either if it ends between the renewal and the registration.
  const std::vector<std::uint32_t> permits = {1};
  EXPECT_TRUE(std::holds_alternative<Gone>(
      later.reregister({{mine.ref(Stamp{50}), 10s}, permits, later.state.config.version})));
  EXPECT_TRUE(later.state.holds.empty());
}

TEST_F(Registering, NotByAnotherConfiguration) {
  const Owned mine({write("a")});
  const std::vector<std::uint32_t> permits = {1};
  EXPECT_TRUE(std::holds_alternative<Stale>(
      step_.reregister({{mine.ref(Stamp{50}), 10s}, permits, step_.state.config.version + 1})));
}

TEST_F(Registering, NotWhatWasEndedMeanwhile) {
  const Owned mine({write("a")});
  EXPECT_TRUE(renew(mine, Stamp{50}));
  EXPECT_TRUE(step_.end(HoldRef(Stamp{50}), {})) << "a break";
  EXPECT_FALSE(renew(mine, Stamp{50}));
}

// Its release comes before any renewal has registered it.
TEST_F(Registering, AReleaseEndsWhatIsNotThereYetOnce) {
  const Owned mine({write("a")});
  EXPECT_TRUE(step_.end(mine.ref(Stamp{50}), "app"));
  EXPECT_FALSE(step_.end(mine.ref(Stamp{50}), "app"));
  EXPECT_FALSE(renew(mine, Stamp{50}));
}

TEST_F(Registering, OfAReaderAndAWriterTheLaterOneStays) {
  const Owned writer({write("a")});
  const Owned reader({read("a")});
  EXPECT_TRUE(renew(reader, Stamp{50}));
  EXPECT_TRUE(renew(writer, Stamp{60}));
  EXPECT_FALSE(renew(reader, Stamp{50}));
  EXPECT_EQ(step_.state.holds.size(), 1U);
}

// Permits may have been lowered since: the first one is not told if it gives way.
TEST_F(Registering, BeyondThePermitsTheFirstOneStays) {
  const Owned one({write("a")});
  const Owned two({write("a")});
  EXPECT_TRUE(renew(one, Stamp{50}));
  EXPECT_FALSE(renew(two, Stamp{60}));
}

// Somebody who saw the space just before, and puts it back, knows only the old limit.
TEST(Step, AHigherLimitIsUsedOnlyWhenAllMustKnowIt) {
  State state = new_state();
  state.config.max_lease = 5s;
  Step raising(state, between(100s, 101s));
  ASSERT_TRUE(raising.change(SetMaxLease{60s}));
  const Duration until = 101s + knows;
  Step early(raising.state, between(until, until));
  EXPECT_EQ(std::get<Grant>(ask(early, Owned({write("a")}), 60s).value()).lease, 5s);
  Step late(raising.state, between(until + 5s, until + 5s));
  EXPECT_EQ(std::get<Grant>(ask(late, Owned({write("b")}), 60s).value()).lease, 60s);
}

TEST(Step, NoLeaseIsLongerThanAQuarantineOfTheUnknown) {
  Step step(new_state(), between(100s, 100s));
  EXPECT_TRUE(step.change(SetMaxLease{longest_lease}));
  EXPECT_EQ(step.change(SetMaxLease{longest_lease + 1s}).error().code, Errc::invalid);
}

TEST(Step, TheNumberOfHoldsIsBounded) {
  Step step(new_state(), between(100s, 100s));
  for (std::size_t i = 0; i < most_holds; ++i) {
    ASSERT_TRUE(ask(step, Owned({write("n" + std::to_string(i))}), 10s));
  }
  const Result<AcquireOutcome> one_more = ask(step, Owned({write("more")}), 10s);
  ASSERT_FALSE(one_more);
  EXPECT_EQ(one_more.error().code, Errc::unavailable);
  EXPECT_NE(one_more.error().message.find(std::to_string(most_holds)), std::string::npos);
  EXPECT_EQ(step.state.holds.size(), most_holds);
  // Those whose lease has ended count no more.
  Step later(step.state, between(200s, 200s));
  EXPECT_TRUE(ask(later, Owned({write("more")}), 10s));
}

TEST(State, ItComesBackAsItWas) {
  Step step(new_state(), between(100s, 101s));
  ASSERT_TRUE(step.change(SetPermits{"a;b", Mode::read, 7}));
  ASSERT_TRUE(step.change(RaiseStampBase{Stamp{5}}));
  step.state.config.epochs["an app"] = 12;
  step.state.process = "12@34";
  step.state.ended = {Stamp{3}};
  const Owned mine({read("1;2"), write("\xC3\xA4")});
  ASSERT_TRUE(ask(step, mine, 9s));
  std::string schema;
  const std::string text = encode(step.state);
  const std::optional<State> again = decode(text, schema);
  ASSERT_TRUE(again);
  EXPECT_EQ(encode(*again), text);
  EXPECT_EQ(again->config, step.state.config);
  ASSERT_EQ(again->holds.size(), 1U);
  EXPECT_EQ(again->holds[0].owner, mine.owner);
  EXPECT_EQ(again->holds[0].token, mine.token);
  // No part of it is a state.
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(decode(text.substr(0, size), schema)) << size;
  }
  EXPECT_FALSE(decode(text + "1;", schema));
  EXPECT_FALSE(decode("lockset 1;2" + text.substr(11), schema));
  EXPECT_EQ(schema, "2");
}

}  // namespace
}  // namespace lockset::memcached
