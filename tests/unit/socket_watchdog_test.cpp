#include "backends/server/socket_watchdog.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

namespace lockset::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class SocketWatchdogTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data()), 0); }
  void TearDown() override {
    for (const int end : ends_) ::close(end);
  }
  [[nodiscard]] int ours() const { return ends_[0]; }
  [[nodiscard]] int theirs() const { return ends_[1]; }
  // The result of a blocking read of ours: 0 is the end of the connection.
  [[nodiscard]] ssize_t read_one() const {
    char byte = 0;
    return ::read(ours(), &byte, 1);
  }

  std::array<int, 2> ends_{};
  SocketWatchdog watchdog_;
};

TEST_F(SocketWatchdogTest, ABlockedReadEndsAtTheDeadlineAndNotBefore) {
  const auto socket = watchdog_.watch(ours());
  const TimePoint began = BootClock::now();
  socket->arm(began + milliseconds(50));
  EXPECT_EQ(read_one(), 0);
  EXPECT_GE(BootClock::now() - began, milliseconds(50));
  EXPECT_LT(BootClock::now() - began, seconds(10));
  EXPECT_TRUE(socket->disarm());
}

TEST_F(SocketWatchdogTest, AnEarlierDeadlineThanTheOneSleptForIsKept) {
  std::array<int, 2> other{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, other.data()), 0);
  {
    const auto patient = watchdog_.watch(other[0]);
    patient->arm(BootClock::now() + seconds(3600));
    const auto socket = watchdog_.watch(ours());
    socket->arm(BootClock::now() + milliseconds(20));
    EXPECT_EQ(read_one(), 0);
    EXPECT_FALSE(patient->disarm());
  }
  for (const int end : other) ::close(end);
}

TEST_F(SocketWatchdogTest, ADisarmedSocketLivesOn) {
  const auto socket = watchdog_.watch(ours());
  const TimePoint deadline = BootClock::now() + milliseconds(200);
  socket->arm(deadline);
  ASSERT_FALSE(socket->disarm());
  std::array<int, 2> other{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, other.data()), 0);
  {
    const auto later = watchdog_.watch(other[0]);
    later->arm(deadline + milliseconds(10));
    char byte = 0;
    EXPECT_EQ(::read(other[0], &byte, 1), 0);  // so the first deadline has passed as well
  }
  for (const int end : other) ::close(end);
  ASSERT_EQ(::write(theirs(), "x", 1), 1);
  EXPECT_EQ(read_one(), 1);
}

TEST_F(SocketWatchdogTest, ADescriptorThatWasClosedAndGivenToAnotherFileIsLetBe) {
  const auto socket = watchdog_.watch(ours());
  socket->arm(BootClock::now() + milliseconds(50));
  ::close(ours());
  std::array<int, 2> other{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, other.data()), 0);
  ASSERT_EQ(other[0], ours());  // the number is in use again
  char byte = 0;
  EXPECT_EQ(::read(theirs(), &byte, 1), 0);  // the old connection was shut down
  EXPECT_TRUE(socket->disarm());
  ASSERT_EQ(::write(other[1], "x", 1), 1);  // the new one was not
  EXPECT_EQ(read_one(), 1);
  ::close(other[1]);
}

TEST_F(SocketWatchdogTest, SeesThatThePeerHungUp) {
  const auto socket = watchdog_.watch(ours());
  EXPECT_FALSE(socket->hung_up());
  ASSERT_EQ(::write(theirs(), "x", 1), 1);
  EXPECT_FALSE(socket->hung_up());  // data is no end
  ASSERT_EQ(::shutdown(theirs(), SHUT_RDWR), 0);
  EXPECT_TRUE(socket->hung_up());
}

TEST_F(SocketWatchdogTest, WatchesNothingThatIsNotOpen) { EXPECT_EQ(watchdog_.watch(-1), nullptr); }

}  // namespace
}  // namespace lockset::server
