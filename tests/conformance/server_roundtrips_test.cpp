// The set is the primitive: its cost does not depend on its size. A proxy between client and server
// counts.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

#include "tests/conformance/server_suite.h"

namespace lockset::conformance {
namespace {

Wanted some_names(const std::string& prefix, std::size_t count) {
  Wanted wanted;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = prefix + std::to_string(i);
    wanted.push_back(i % 2 == 0 ? write(name) : read(name));
  }
  return wanted;
}

class RoundTrips : public ServerConformance {
 protected:
  // True if there is nothing to count; then the test is marked as skipped.
  [[nodiscard]] bool lacks_server() {
    return ServerConformance::lacks_server() ||
           skip_unless(harness().harness_traits().changes_by.empty(), "steps of one request");
  }
  // How many round trips a call takes. The proxy counts requests as one trip if they are sent
  // before the first one is answered. A client that waits for the processor between two parts of
  // one request seems to make two trips. So a call with more than one is measured again, and the
  // lowest number counts. `prepare` runs before each measurement.
  std::size_t of(const std::function<void()>& call, const std::function<void()>& prepare = {}) {
    std::size_t least = SIZE_MAX;
    for (int look = 0; look < 3 && least > 1; ++look) {
      proxy().heal();
      if (prepare) prepare();
      proxy().far(250ms);
      proxy().reset_counts();
      call();
      EXPECT_EQ(proxy().connections(), 0U) << "it opened another connection";
      least = std::min(least, proxy().round_trips());
    }
    return least;
  }
};

// SEM 3, 5, 9: one to take a set, one to release it, for any size
TEST_P(RoundTrips, AcquireAndReleaseOfASetAreOneEach) {
  if (lacks_server()) return;
  Client c(proxied());
  for (const std::size_t size : {1U, 32U, 256U}) {
    SCOPED_TRACE(size);
    const Wanted wanted = some_names("n", size);
    warm_up(c, wanted);
    std::optional<Grant> grant;
    EXPECT_EQ(of([&] { grant = c.take(wanted); },
                 [&] {
                   if (grant) c.release(grant->stamp);
                 }),
              1U);
    EXPECT_EQ(of([&] { EXPECT_TRUE(c.release(std::exchange(grant, {})->stamp)); },
                 [&] {
                   if (!grant) grant = c.take(wanted);
                 }),
              1U);
  }
}

// SEM 3: names that the store has never seen may cost a little more once, but not more for more
// names
TEST_P(RoundTrips, FreshNamesCostNoMoreTheMoreTheyAre) {
  if (lacks_server()) return;
  Client c(proxied());
  warm_up(c, some_names("warm", 32));
  int fresh = 0;
  const auto prefix = [&](const std::string& what) { return what + std::to_string(++fresh) + "-"; };
  const std::size_t one = of([&] { c.take(some_names(prefix("one"), 1)); });
  const std::size_t many = of([&] { c.take(some_names(prefix("many"), 32)); });
  EXPECT_EQ(one, many);
  EXPECT_LE(many, 3U) << "at most: found missing, made, tried again";
  RecordProperty("fresh", static_cast<int>(many));
}

// SEM 14: a busy answer takes one, too
TEST_P(RoundTrips, ABusyAnswerIsOne) {
  if (lacks_server()) return;
  Client c(proxied());
  const Wanted wanted = some_names("n", 32);
  warm_up(c, wanted);
  c.take({write(wanted.back().name)});
  EXPECT_EQ(of([&] { c.meet_busy(wanted); }), 1U);
}

// SEM 27, 28: to look, to look again, and to acquire on that condition, for any number of names
TEST_P(RoundTrips, ObservingAndAcquiringOnAConditionAreOneEach) {
  if (lacks_server()) return;
  if (skip_unless(traits().observing, "observing")) return;
  Client c(proxied());
  for (const std::size_t size : {1U, 256U}) {
    SCOPED_TRACE(size);
    const Wanted wanted = some_names("n", size);
    warm_up(c, wanted);
    const LockSet set = make_set(wanted);
    std::vector<std::string> names;
    for (const LockRequest& item : set.items()) names.push_back(item.name);
    std::vector<Trace> seen = c.observe(names);
    EXPECT_EQ(of([&] { seen = c.observe(names); }), 1U);
    const auto condition = [&] {
      std::vector<Expected> condition;
      for (std::size_t i = 0; i < seen.size(); ++i) condition.push_back({i, seen[i].last_write});
      return condition;
    };
    std::optional<Grant> grant;
    EXPECT_EQ(of([&] { grant = c.take(wanted, {.unchanged_since = condition()}); },
                 [&] {
                   if (grant) c.release(grant->stamp);
                   seen = c.observe(names);
                 }),
              1U);
    c.release(grant->stamp);
    EXPECT_EQ(of([&] { c.meet_changed(wanted, {.unchanged_since = condition()}); }), 1U);
  }
}

// SEM 27: traces that are missing may cost a little more once, but not more for more names
TEST_P(RoundTrips, FirstObservationsCostNoMoreTheMoreNamesThereAre) {
  if (lacks_server()) return;
  if (skip_unless(traits().observing, "observing")) return;
  Client c(proxied());
  warm_up(c, some_names("warm", 2));
  c.observe_one("warm");
  int fresh = 0;
  const auto first_look = [&](std::size_t count) {
    return of([&] {
      std::vector<std::string> names;
      for (std::size_t i = 0; i < count; ++i) {
        names.push_back("fresh" + std::to_string(fresh) + "-" + std::to_string(1000 + i));
      }
      ++fresh;
      c.observe(names);
    });
  };
  const std::size_t one = first_look(1);
  const std::size_t many = first_look(32);
  EXPECT_EQ(one, many);
  EXPECT_LE(many, 3U) << "at most: found missing, made, looked at again";
  RecordProperty("fresh", static_cast<int>(many));
}

// SEM 10: one for all holds of a process together
TEST_P(RoundTrips, RenewingIsOneForAnyNumberOfHolds) {
  if (lacks_server()) return;
  const std::shared_ptr<Backend> backend = proxied();
  Client c(backend);
  warm_up(c, {write("warm")});
  std::vector<RenewRequest> requests;
  for (int i = 0; i < 100; ++i) {
    const Grant grant = c.take({write("n" + std::to_string(i)), read("m" + std::to_string(i))});
    requests.push_back({c.known(grant.stamp), 1min});
  }
  for (const std::size_t count : {1U, 100U}) {
    SCOPED_TRACE(count);
    EXPECT_EQ(of([&] {
                const RenewReply reply =
                    backend->renew(c.owner(), std::span(requests).first(count), soon()).value();
                for (const auto& renewal : reply.renewals) EXPECT_TRUE(renewal);
              }),
              1U);
  }
}

// A manager that closes has one I/O timeout for all of its holds
TEST_P(RoundTrips, ReleasingManyIsOne) {
  if (lacks_server()) return;
  if (skip_unless(harness().harness_traits().releases_together, "releases together")) return;
  const std::shared_ptr<Backend> backend = proxied();
  Client c(backend);
  warm_up(c, {write("warm")});
  std::vector<Stamp> stamps;
  for (int i = 0; i < 100; ++i) {
    const std::string n = std::to_string(i);
    stamps.push_back(c.take({write("n" + n), read("m" + n)}).stamp);
  }
  const std::vector<HoldRef> known = c.known(stamps);
  const auto all = std::span<const HoldRef>(known);
  ASSERT_TRUE(backend->release_all(all.first(1), c.owner().app, soon()).value()[0]);  // warm
  // A third of them in each measurement.
  std::size_t next = 1;
  EXPECT_EQ(of([&] {
              const std::vector<bool> ended =
                  backend->release_all(all.subspan(next, 33), c.owner().app, soon()).value();
              for (const bool one : ended) EXPECT_TRUE(one);
              next += 33;
            }),
            1U);
}

// The same through Locks
TEST_P(RoundTrips, ClosingWithManyHoldsIsOne) {
  if (lacks_server()) return;
  if (skip_unless(harness().harness_traits().releases_together, "releases together")) return;
  std::optional<Locks> mine = proxied_locks({.lease = 1min, .refresh_config = 1h});
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(mine->try_locks({write("n" + std::to_string(i))}).value());
  }
  proxy().far(250ms);
  proxy().reset_counts();
  mine.reset();
  // Two round trips to say goodbye, on two connections, if the store does so.
  EXPECT_LE(proxy().round_trips(), 3U);
  EXPECT_TRUE(space().look().empty());
}

// SEM 14
TEST_P(RoundTrips, ResolvingIsOne) {
  if (lacks_server()) return;
  if (skip_unless(traits().holds_outlive_connections, "holds that outlive connections")) return;
  Client c(proxied());
  warm_up(c, {write("a")});
  const Token token = Token::random();
  c.take(some_names("n", 8), {.token = token});
  EXPECT_EQ(of([&] { EXPECT_TRUE(c.resolve(token)); }), 1U);
  EXPECT_EQ(of([&] { EXPECT_FALSE(c.resolve(Token::random())); }), 1U);
}

// SEM 13: the first attempt of an acquire that may wait costs no more if the set is free
TEST_P(RoundTrips, AnAcquireThatNeedNotWaitIsOne) {
  if (lacks_server()) return;
  Locks mine = proxied_locks({.lease = 1min, .refresh_config = 1h});
  const Wanted wanted = some_names("n", 32);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(mine.acquire(wanted).value().release());
  std::optional<Hold> hold;
  EXPECT_EQ(of([&] { hold = mine.acquire(wanted).value(); },
               [&] {
                 if (hold) {
                   EXPECT_TRUE(hold->release());
                 }
               }),
            1U);
  EXPECT_EQ(of([&] { EXPECT_TRUE(std::exchange(hold, {})->release()); },
               [&] {
                 if (!hold) hold = mine.acquire(wanted).value();
               }),
            1U);
}

LOCKSET_CONFORMANCE_SUITE(RoundTrips);

}  // namespace
}  // namespace lockset::conformance
