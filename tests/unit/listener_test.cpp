#include "backends/server/listener.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "tests/support/wait.h"

namespace lockset::server {
namespace {

using namespace std::chrono_literals;

using test::in;
constexpr auto far = 20s;

// Listens until the listener ends.
void hear(Listener& listener) {
  listener.connected();
  pollfd look{listener.interrupt().fd(), POLLIN, 0};
  while (::poll(&look, 1, -1) < 0) {
  }
}

TEST(Listener, NamesAreOfOneListenerAlone) {
  Listener one(hear);
  Listener other(hear);
  EXPECT_EQ(one.name().size(), 32U);
  EXPECT_NE(one.name(), other.name());
  EXPECT_NE(one.subscribe()->number(), one.subscribe()->number()) << "never used again";
}

TEST(Listener, ConnectsAtTheStartAndNotBefore) {
  std::atomic<int> calls = 0;
  Listener listener([&](Listener& self) {
    ++calls;
    hear(self);
  });
  EXPECT_EQ(listener.session(), 0U);
  EXPECT_EQ(calls, 0);
  EXPECT_TRUE(listener.start(in(far)));
  EXPECT_NE(listener.session(), 0U);
  EXPECT_TRUE(listener.start(in(far)));
  EXPECT_EQ(calls, 1);
}

TEST(Listener, WakesWhoIsMeant) {
  Listener listener(hear);
  ASSERT_TRUE(listener.start(in(far)));
  const auto one = listener.subscribe();
  const auto other = listener.subscribe();
  listener.wake(other->number());
  listener.wake(12345);
  EXPECT_EQ(one->wakes(), 0U);
  EXPECT_EQ(other->wakes(), 1U);
  other->sleep(0, listener.session(), in(far), {});  // returns at once: it came before
  std::thread waker([&] { listener.wake_all(); });
  const TimePoint began = BootClock::now();
  one->sleep(0, listener.session(), began + far, {});
  EXPECT_LT(BootClock::now() - began, far / 2);
  waker.join();
  EXPECT_EQ(one->wakes(), 1U);
  EXPECT_EQ(other->wakes(), 2U);
}

TEST(Listener, ASleepEndsAtItsTimeOrByAStop) {
  Listener listener(hear);
  ASSERT_TRUE(listener.start(in(far)));
  const auto subscription = listener.subscribe();
  const TimePoint began = BootClock::now();
  subscription->sleep(0, listener.session(), began + 30ms, {});
  EXPECT_GE(BootClock::now() - began, 30ms);
  EXPECT_LT(BootClock::now() - began, far / 2);
  std::stop_source stop;
  stop.request_stop();
  subscription->sleep(0, listener.session(), in(far), stop.get_token());
  EXPECT_LT(BootClock::now() - began, far / 2);
}

// A wake-up that was sent while there was no connection was not received.
TEST(Listener, AnEndedConnectionWakesTheSleepersAndIsMadeAnew) {
  std::atomic<bool> end = false;
  Listener listener([&](Listener& self) {
    self.connected();
    pollfd look{self.interrupt().fd(), POLLIN, 0};
    while (!end.exchange(false) && ::poll(&look, 1, 1) <= 0) {
    }
  });
  ASSERT_TRUE(listener.start(in(far)));
  const auto subscription = listener.subscribe();
  const std::uint64_t session = listener.session();
  const TimePoint began = BootClock::now();
  end = true;
  subscription->sleep(0, session, began + far, {});
  EXPECT_LT(BootClock::now() - began, far / 2);
  EXPECT_EQ(subscription->wakes(), 0U);
  EXPECT_TRUE(listener.start(in(far)));
  EXPECT_NE(listener.session(), session);
}

TEST(Listener, FailuresAreTriedAgain) {
  std::atomic<int> calls = 0;
  Listener listener([&](Listener& self) {
    if (++calls == 1) return;
    if (calls == 2) throw std::runtime_error("no route");
    hear(self);
  });
  (void)listener.start(in(far));
  while (listener.session() == 0) (void)listener.start(in(far));
  EXPECT_EQ(calls, 3);
}

TEST(Listener, GivesUpWaitingForAConnectionInTime) {
  Listener listener([](Listener& self) {
    pollfd look{self.interrupt().fd(), POLLIN, 0};
    while (::poll(&look, 1, -1) < 0) {
    }
  });
  const TimePoint began = BootClock::now();
  EXPECT_FALSE(listener.start(began + 30ms));
  EXPECT_GE(BootClock::now() - began, 30ms);
  EXPECT_LT(BootClock::now() - began, far / 2);
}

TEST(Listener, APlaceMayOutliveIt) {
  std::shared_ptr<Listener::Subscription> subscription;
  {
    Listener listener(hear);
    ASSERT_TRUE(listener.start(in(far)));
    subscription = listener.subscribe();
  }
  EXPECT_EQ(subscription->wakes(), 0U);
  subscription->sleep(0, 1, in(10ms), {});
}

}  // namespace
}  // namespace lockset::server
