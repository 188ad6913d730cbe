// SEM 27, 28: the nodes of traces, against requests that are under way.
#include <atomic>
#include <optional>
#include <random>
#include <thread>

#include "backends/zookeeper/address.h"
#include "backends/zookeeper/housekeeping.h"
#include "backends/zookeeper/paths.h"
#include "backends/zookeeper/store.h"
#include "lockset/url.h"
#include "tests/support/seed.h"
#include "tests/support/tcp_proxy.h"
#include "tests/zookeeper/fixture.h"

namespace lockset::zookeeper_tests {
namespace {

using test::TcpProxy;

class Observing : public ZookeeperTest {
 protected:
  [[nodiscard]] std::string path_of(const std::string& name) { return root() + "/names/" + name; }
  std::optional<std::int64_t> noted_ms(const std::string& name) {
    for (const std::string& child : raw().children(path_of(name))) {
      if (const auto ms = zookeeper::noted_ms(child)) return ms;
    }
    return {};
  }
  bool has_trace(const std::string& name) {
    raw().sync();
    return raw().get(path_of(name) + "/trace").has_value();
  }
  // As if the name had been observed so much earlier.
  void let_pass(const std::string& name, std::chrono::hours time) {
    const std::int64_t ms = noted_ms(name).value();
    const std::int64_t then = ms - std::chrono::milliseconds(time).count();
    ASSERT_EQ(raw().remove(path_of(name) + "/" + zookeeper::note_part(ms)), 0);
    ASSERT_EQ(raw().create(path_of(name) + "/" + zookeeper::note_part(then), ""), 0);
  }
  // The stamp of one write.
  static Stamp written(Client& client, const std::string& name) {
    const Stamp stamp = client.take({write(name)}).stamp;
    EXPECT_TRUE(client.release(stamp));
    return stamp;
  }
  static void write_once(Client& client, const std::string& name) {
    EXPECT_TRUE(written(client, name));
  }
  static std::size_t sweep(Client& client, Duration unobserved) {
    return client.backend().sweep_traces(unobserved, soon()).value();
  }
  // Lets pass what the proxy holds, a batch of so many requests, and holds what the client sends
  // when it has the answers.
  static void pass_one_batch(TcpProxy& proxy, std::size_t requests) {
    const auto before = received();
    proxy.black_hole(TcpProxy::Way::to_client);
    proxy.deliver_held();
    EXPECT_TRUE(receives(before, requests));
    proxy.hold_next_request();
    proxy.heal();
    EXPECT_TRUE(eventually([&] { return proxy.caught(); }));
  }
  std::string config_text() {
    raw().sync();
    return raw().get(root() + "/config").value().data;
  }
};

// Names that nobody observes cost nothing.
TEST_F(Observing, OnlyObservedNamesHaveATrace) {
  Client c = client();
  write_once(c, "a");
  write_once(c, "b");
  EXPECT_TRUE(raw().children(path_of("a")).empty());
  c.observe({"a", "c"});
  write_once(c, "b");
  EXPECT_TRUE(has_trace("a"));
  EXPECT_TRUE(raw().children(path_of("b")).empty());
  EXPECT_TRUE(has_trace("c"));
}

// --- requests under way ---

// SEM 27: the client has not read the name since the trace was made
TEST_F(Observing, AWriteByWhatWasKnownBeforeIsAChange) {
  Client writer = client("writer");
  Client observer = client("observer");
  write_once(writer, "a");
  const Trace seen = observer.observe_one("a");
  EXPECT_FALSE(seen.being_written);
  const Stamp stamp = written(writer, "a");
  EXPECT_EQ(observer.observe_one("a").last_write, stamp);
}

// The same while the request that grants is on its way
TEST_F(Observing, AWriteOnItsWayIsAChange) {
  TcpProxy proxy(server().port());
  Client slow(open_backend(url_through(proxy.port()), soon()).value(), "slow");
  Client observer = client("observer");
  observer.observe_one("the first, which changes the configuration's node");
  write_once(slow, "a");
  proxy.hold_next_request();
  std::optional<Grant> grant;
  Trace seen;
  {
    const std::jthread asking([&] { grant = slow.take({write("a")}); });
    EXPECT_TRUE(eventually([&] { return proxy.caught(); }));
    seen = observer.observe_one("a");
    proxy.deliver_held();
    proxy.heal();
  }
  EXPECT_FALSE(seen.being_written);
  ASSERT_TRUE(grant);
  EXPECT_GE(grant->collisions, 1U) << "nothing was tested";
  const Trace then = observer.observe_one("a");
  EXPECT_EQ(then.last_write, grant->stamp);
  EXPECT_TRUE(then.being_written);
}

// SEM 13, 27: a waiter that is woken asks by what it read in its queue
TEST_F(Observing, AWriteAfterAWaitIsAChange) {
  Client holder = client("holder");
  Client waiter = client("waiter");
  const Trace seen = holder.observe_one("a");
  const Grant first = holder.take({write("a")});
  EXPECT_GT(first.stamp, seen.last_write);
  const Busy busy = waiter.meet_busy({write("a")}, {.will_wait = true});
  EXPECT_TRUE(holder.release(first.stamp));
  EXPECT_TRUE(waiter.backend().await_change(*busy.ticket, BootClock::now() + long_time, {}));
  const Grant second = waiter.take({write("a")}, {.ticket = busy.ticket});
  EXPECT_TRUE(waiter.release(second.stamp));
  EXPECT_EQ(holder.observe_one("a").last_write, second.stamp);
}

// SEM 27: all who observe a name for the first time see the same, and nobody takes the making of
// the trace for a write
TEST_F(Observing, TheFirstObserversAgree) {
  constexpr std::size_t observers = 4;
  std::vector<std::shared_ptr<Backend>> stores;
  for (std::size_t i = 0; i < observers; ++i) stores.push_back(open());
  for (int round = 0; round < 20; ++round) {
    const std::vector<std::string> names{"a" + std::to_string(round), "b" + std::to_string(round)};
    std::vector<std::vector<Trace>> seen(observers);
    test::run_threads(observers,
                      [&](std::size_t i) { seen[i] = Client(stores[i]).observe(names); });
    for (const std::vector<Trace>& each : seen) {
      for (std::size_t i = 0; i < names.size(); ++i) {
        EXPECT_EQ(each.at(i).last_write, seen[0].at(i).last_write);
        EXPECT_FALSE(each[i].being_written);
      }
    }
  }
}

// SEM 27: the holders and the trace are two reads. Whoever is granted a write between them is not
// among the holders, and has changed the trace.
TEST_F(Observing, AWriteThatIsGrantedDuringTheLookIsSeen) {
  Client observer = client("observer");
  Client writer = client("writer");
  observer.observe_one("a");
  std::atomic<std::int64_t> held = 0;
  std::atomic<bool> over = false;
  constexpr int enough = 50;
  int changes = 0;
  test::Progress progress;
  std::thread writing([&] {
    while (!over) {
      const Stamp stamp = writer.take({write("a")}).stamp;
      held = stamp.value;
      test::linger(std::chrono::milliseconds(3));
      held = 0;
      writer.release(stamp);
    }
  });
  Trace last;
  for (int round = 0; (round < 1500 || changes < enough) && !HasFailure() && !progress.stuck();
       ++round) {
    const Trace seen = observer.observe_one("a");
    if (!seen.being_written) {
      EXPECT_NE(seen.last_write.value, held);
    }
    if (seen.last_write != last.last_write) {
      ++changes;
      progress.step();
    }
    last = seen;
  }
  over = true;
  writing.join();
  EXPECT_GE(changes, enough) << "hardly anything was tested";
}

// SEM 14, 27: whatever happens to the connection
TEST_F(Observing, AFirstObservationOutlivesLostReplies) {
  const std::uint64_t seed = test::test_seed();
  SCOPED_TRACE(test::describe_seed(seed));
  TcpProxy proxy(server().port());
  Client mine(open_backend(url_through(proxy.port()), soon()).value());
  Client other = client("other");
  int cuts = 0;
  std::mt19937_64 random(seed);
  for (int i = 0; i < 15; ++i) {
    const std::string name = "n" + std::to_string(i);
    // The first request of an observation, or one of those that make the trace.
    proxy.cut_next_reply(random() % 200);
    const std::vector<std::string> names{name};
    const auto seen =
        mine.backend().observe({names, mine.config().version, BootClock::now() + long_time});
    cuts += proxy.caught() ? 1 : 0;
    ASSERT_TRUE(seen) << seen.error().message;
    const Trace& trace = std::get<std::vector<Trace>>(*seen).at(0);
    EXPECT_FALSE(trace.being_written);
    EXPECT_EQ(other.observe_one(name).last_write, trace.last_write);
  }
  EXPECT_GE(cuts, 5) << "nothing was tested";
}

// --- the content ---

TEST_F(Observing, ALabelMayHaveAnyCharacters) {
  Client c = client();
  Client writer = client("writer");
  for (const std::string label : {"a=b 100%", "Ünïcode/\\", "", "x\ny"}) {
    c.observe_one("a");
    writer.set_label(label);
    const Stamp stamp = written(writer, "a");
    const Trace seen = c.observe_one("a");
    EXPECT_EQ(seen.last_write, stamp);
    EXPECT_EQ(seen.label, label);
    EXPECT_TRUE(seen.age_us);
  }
}

// Somebody wrote into the node.
TEST_F(Observing, WhatIsNotLocksetsIsRefused) {
  Client c = client();
  const Trace seen = c.observe_one("a");
  ASSERT_EQ(raw().set(path_of("a") + "/trace", "junk"), 0);
  const std::vector<std::string> names{"a"};
  const auto refused = c.backend().observe({names, c.config().version, soon()});
  ASSERT_FALSE(refused);
  const std::string message = checked(refused.error(), Errc::misconfigured);
  EXPECT_TRUE(says(message, "/names/a/trace")) << message;
  EXPECT_FALSE(client("other")
                   .meet_changed({write("a")}, {.unchanged_since = {{0, seen.last_write}}})
                   .trace.last_write);
  // A write puts it right.
  const Stamp stamp = written(c, "a");
  EXPECT_EQ(c.observe_one("a").last_write, stamp);
}

// SEM 8: another client raised the base; what is drawn is above its grants
TEST_F(Observing, AStampIsDrawnFromThePresentBase) {
  Client c = client();
  Client ahead = client("ahead");
  const Stamp now = ahead.take({write("x")}).stamp;
  const Stamp far = ahead.take({write("y")}, {.min_stamp = {now.value + 3'600'000'000}}).stamp;
  EXPECT_GT(c.observe_one("a").last_write, far);
  EXPECT_GT(c.take({write("a")}).stamp, far);
}

// The same between the look and the step that makes the trace
TEST_F(Observing, AStampIsDrawnFromTheBaseOfItsMoment) {
  TcpProxy proxy(server().port());
  Client slow(open_backend(url_through(proxy.port()), soon()).value(), "slow");
  Client ahead = client("ahead");
  const Stamp now = ahead.take({write("x")}).stamp;
  slow.observe_one("to begin with");
  proxy.hold_next_request();
  Trace seen;
  Stamp far;
  {
    const std::jthread looking([&] { seen = slow.observe_one("a"); });
    EXPECT_TRUE(eventually([&] { return proxy.caught(); }));
    pass_one_batch(proxy, 4);  // the look
    far = ahead.take({write("y")}, {.min_stamp = {now.value + 3'600'000'000}}).stamp;
    proxy.deliver_held();
    proxy.heal();
  }
  EXPECT_GT(seen.last_write, far);
}

// SEM 8, 27: stamps of a wiped space start from the clock, and may have been ahead of it
TEST_F(Observing, NoTraceComesAgainInAWipedSpace) {
  Client c = client();
  const Stamp high = c.take({write("x")}).stamp;
  c.change(RaiseStampBase{Stamp{high.value + 3'600'000'000}});
  const Trace seen = c.observe_one("a");
  raw().remove_tree(space());
  init_space(url(), soon()).value();
  EXPECT_FALSE(
      c.meet_changed({write("a")}, {.unchanged_since = {{0, seen.last_write}}}).trace.last_write);
  c.reload();
  const Trace now = c.observe_one("a");
  EXPECT_GT(now.last_write, seen.last_write);
  EXPECT_GT(c.take({write("a")}).stamp, now.last_write);
}

// --- programs of an older version, which know no traces ---

// They can't read the configuration from the first observation on; before, they can.
TEST_F(Observing, ProgramsThatKnowNoTracesAreShutOutByTheFirst) {
  Client c = client();
  write_once(c, "a");
  EXPECT_FALSE(says(config_text(), "traces"));
  const std::int32_t before = raw().get(root() + "/config").value().version;
  c.observe_one("a");
  EXPECT_TRUE(says(config_text(), "\ntraces=1\n"));
  EXPECT_NE(raw().get(root() + "/config").value().version, before);
  c.observe_one("b");
  c.set_permits("a", Mode::read, 2);
  EXPECT_TRUE(says(config_text(), "\ntraces=1\n")) << "a later change took it away";
}

// As this program would be by a later one.
TEST_F(Observing, TracesOfALaterKindAreRefused) {
  Client c = client();
  c.observe_one("a");
  std::string text = config_text();
  text.replace(text.find("traces=1"), 8, "traces=2");
  ASSERT_EQ(raw().set(root() + "/config", text), 0);
  const auto outcome = c.ask({write("b")});
  ASSERT_FALSE(outcome) << test::describe(outcome);
  checked(outcome.error(), Errc::misconfigured);
  refused(url(), Errc::misconfigured);
}

// --- the sweep ---

// SEM 27: not before it went unobserved for 7 days
TEST_F(Observing, TracesStayForDaysAfterTheyWereObserved) {
  Client c = client();
  c.observe_one("a");
  const Stamp stamp = written(c, "a");
  let_pass("a", 24h * 6);
  EXPECT_EQ(sweep(c, trace_lifetime), 0U);
  EXPECT_EQ(c.observe_one("a").last_write, stamp);
  // From that observation on it counts anew; a write does not count.
  let_pass("a", 24h * 6);
  EXPECT_EQ(sweep(c, trace_lifetime), 0U);
  let_pass("a", 24h);
  EXPECT_GT(written(c, "a"), stamp);
  EXPECT_EQ(sweep(c, trace_lifetime), 1U);
  EXPECT_TRUE(raw().children(path_of("a")).empty());
  EXPECT_GT(c.observe_one("a").last_write, stamp);
}

// A look costs no node, but for one a day.
TEST_F(Observing, AnObservationIsNotedOnceADay) {
  Client c = client();
  c.observe_one("a");
  const std::int64_t first = noted_ms("a").value();
  let_pass("a", 23h);
  const std::int64_t earlier = noted_ms("a").value();
  c.observe_one("a");
  EXPECT_EQ(noted_ms("a"), earlier);
  let_pass("a", 1h);
  c.observe_one("a");
  EXPECT_GE(noted_ms("a").value(), first);
  EXPECT_EQ(raw().children(path_of("a")).size(), 2U) << "the earlier note is still there";
}

// SEM 28: a client that remembers the trace does not take it for unbroken
TEST_F(Observing, ARememberedTraceThatWasSweptIsMissing) {
  Client c = client();
  const Trace seen = c.observe_one("a");
  Client sweeper = client("sweeper");
  EXPECT_EQ(sweep(sweeper, Duration::zero()), 1U);
  for (const LockRequest& item : {read("a"), write("a")}) {
    EXPECT_FALSE(
        c.meet_changed({item}, {.unchanged_since = {{0, seen.last_write}}}).trace.last_write);
  }
  write_once(c, "a");
}

// The sweep has read an old note, and the name is observed before it removes anything.
TEST_F(Observing, ANameThatIsObservedMeanwhileStays) {
  TcpProxy proxy(server().port());
  Client slow(open_backend(url_through(proxy.port()), soon()).value(), "slow");
  Client c = client();
  const Trace seen = c.observe_one("a");
  let_pass("a", 24h * 8);
  proxy.hold_next_request();
  std::size_t removed = 17;
  {
    const std::jthread sweeping([&] { removed = sweep(slow, trace_lifetime); });
    EXPECT_TRUE(eventually([&] { return proxy.caught(); }));
    pass_one_batch(proxy, 3);  // the configuration
    pass_one_batch(proxy, 2);  // all names
    pass_one_batch(proxy, 1);  // their notes
    // What is held now is the removal.
    EXPECT_EQ(c.observe_one("a").last_write, seen.last_write);
    proxy.deliver_held();
    proxy.heal();
  }
  EXPECT_EQ(removed, 0U);
  EXPECT_TRUE(has_trace("a"));
  EXPECT_EQ(c.observe_one("a").last_write, seen.last_write);
}

// A space with more names than one step looks at, among holds
TEST_F(Observing, TracesAreSweptInParts) {
  Client c = client();
  c.take({write("held")});
  std::size_t made = 0;
  for (int round = 0; round < 4; ++round) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < max_set_size; ++i) {
      names.push_back("name " + std::to_string(100'000 + made++));
    }
    c.observe(names);
  }
  c.observe_one("kept");
  let_pass("kept", -1h);
  std::size_t removed = 0;
  int calls = 0;
  while (const std::size_t some = sweep(c, Duration::zero())) {
    EXPECT_LT(some, made);
    removed += some;
    ++calls;
  }
  EXPECT_GT(calls, 1);
  removed += sweep(c, Duration::zero());
  EXPECT_EQ(removed, made);
  EXPECT_TRUE(has_trace("kept"));
  EXPECT_EQ(c.holds().size(), 1U);
}

// SEM 19: the name's node stays as long as its trace
TEST_F(Observing, IdleNamesAreCollectedWithoutTheirTraces) {
  Client c = client();
  const Trace seen = c.observe_one("a");
  const auto options = zookeeper::parse_address(Url::parse(url()).value()).value();
  const auto own = zookeeper::OpenSpace::open(options, soon()).value();
  zookeeper::Housekeeping housekeeping(*own);
  EXPECT_EQ(housekeeping.collect(-1min, soon()).value(), 0U);
  EXPECT_EQ(c.observe_one("a").last_write, seen.last_write);
  EXPECT_EQ(sweep(c, Duration::zero()), 1U);
  EXPECT_EQ(housekeeping.collect(-1min, soon()).value(), 1U);
  EXPECT_GT(c.observe_one("a").last_write, seen.last_write);
}

// Where nobody has ever observed, a sweep does not look at the names.
TEST_F(Observing, NothingIsSweptWhereNobodyObserves) {
  Client c = client();
  ASSERT_EQ(raw().create(path_of("a"), ""), 0);
  ASSERT_EQ(raw().create(path_of("a") + "/trace", ""), 0);
  ASSERT_EQ(raw().create(path_of("a") + "/observed-1", ""), 0);
  EXPECT_EQ(sweep(c, Duration::zero()), 0U);
  c.observe_one("b");
  EXPECT_EQ(sweep(c, Duration::zero()), 2U);
}

}  // namespace
}  // namespace lockset::zookeeper_tests
