#include "tests/support/recording_backend.h"

#include <gtest/gtest.h>

#include "core/lease_state.h"
#include "history/check.h"
#include "history/text.h"
#include "lockset/memory_backend.h"
#include "tests/support/client.h"
#include "tests/support/faulty_backend.h"
#include "tests/support/wait.h"

namespace lockset::test {
namespace {

using Level = RecordingBackend::Level;

class RecordingBackendTest : public testing::Test {
 protected:
  // "ask granted release ..."
  [[nodiscard]] std::string kinds() const {
    std::string all;
    for (const history::Event& event : recorder_->log().events) {
      const std::string line = history::print(event);
      const std::size_t from = line.find(' ') + 1;
      all += (all.empty() ? "" : " ") + line.substr(from, line.find_first_of(" \n", from) - from);
    }
    return all;
  }
  template <class T>
  [[nodiscard]] T last() const {
    return std::get<T>(recorder_->log().events.back().what);
  }
  [[nodiscard]] history::Report check() const {
    return history::check({recorder_->log()}, {}).value();
  }

  const std::shared_ptr<Recorder> recorder_ = std::make_shared<Recorder>("p");
  const std::shared_ptr<FaultyBackend> store_ =
      std::make_shared<FaultyBackend>(make_memory_backend(make_memory_store()), 1);
  Client attempts_{std::make_shared<RecordingBackend>(store_, recorder_)};
  Client beneath_{std::make_shared<RecordingBackend>(store_, recorder_, Level::beneath_api)};
};

TEST_F(RecordingBackendTest, EveryAnswerIsRecorded) {
  const TimePoint before = BootClock::now();
  const Grant grant = attempts_.take({write("a"), read("b")}, {.lease = std::chrono::seconds(10)});
  EXPECT_EQ(last<history::Granted>().stamp, grant.stamp);
  EXPECT_EQ(last<history::Granted>().floors, grant.floors);
  EXPECT_GE(last<history::Granted>().until, validity_end(before, std::chrono::seconds(10)));
  EXPECT_LE(last<history::Granted>().until,
            validity_end(BootClock::now(), std::chrono::seconds(10)));
  attempts_.meet_busy({read("a")});
  EXPECT_EQ(last<history::Busy>(), (history::Busy{2, "a", grant.stamp}));
  EXPECT_TRUE(attempts_.renew(grant.stamp, std::chrono::seconds(10)));
  EXPECT_EQ(attempts_.holds().size(), 1U);
  EXPECT_TRUE(attempts_.release(grant.stamp));
  EXPECT_FALSE(attempts_.release(grant.stamp));
  EXPECT_FALSE(attempts_.renew(grant.stamp, std::chrono::seconds(10)));
  EXPECT_EQ(kinds(),
            "ask granted ask busy renew renewed seen_begin seen seen_end release released "
            "release not_held renew not_renewed");
  EXPECT_TRUE(check().kept());
}

TEST_F(RecordingBackendTest, WhatWasPerhapsDoneIsRecordedAsSuch) {
  store_->script(Call::try_acquire, Fault::lose_reply);
  const Token token = Token::random();
  EXPECT_FALSE(attempts_.ask({write("a")}, {.token = token}));
  EXPECT_TRUE(attempts_.resolve(token));  // the late answer of the same attempt
  const Stamp stamp = last<history::Granted>().stamp;
  EXPECT_TRUE(attempts_.resolve(token));  // recorded once only
  store_->script(Call::renew, Fault::lose_reply);
  const RenewRequest renewal{stamp, std::chrono::seconds(10)};
  EXPECT_FALSE(attempts_.backend().renew(attempts_.owner(), {&renewal, 1}, soon()));
  store_->script(Call::release, Fault::lose_reply);
  EXPECT_FALSE(attempts_.backend().release(stamp, "app", soon()));
  store_->script(Call::try_acquire, Fault::fail_before);
  EXPECT_FALSE(attempts_.ask({write("a")}));
  EXPECT_EQ(kinds(), "ask unknown granted renew renew_unknown release release_unknown ask refused");
}

TEST_F(RecordingBackendTest, AnOldConfigurationIsARefusal) {
  attempts_.set_permits("a", Mode::read, 3);
  EXPECT_EQ(last<history::PermitsEnd>(), (history::PermitsEnd{"a", 3, 1}));
  beneath_.take({read("a")});  // takes over the new configuration
  Client other{std::make_shared<RecordingBackend>(store_, recorder_)};
  attempts_.set_permits("a", Mode::write, 2);
  EXPECT_EQ(last<history::PermitsEnd>(), (history::PermitsEnd{"a", 3, 2}));
  other.take({read("a")});
  EXPECT_EQ(kinds(), "permits_begin permits_end permits_begin permits_end ask refused ask granted");
}

TEST_F(RecordingBackendTest, BeneathTheApiOnlyWhatDoesNotShowThere) {
  const Grant grant = beneath_.take({write("a")});
  beneath_.meet_busy({write("a")});
  EXPECT_EQ(kinds(), "");
  EXPECT_TRUE(beneath_.renew(grant.stamp, std::chrono::seconds(10)));
  EXPECT_EQ(kinds(), "renew renewed");
  EXPECT_TRUE(beneath_.release(grant.stamp));
  store_->script(Call::try_acquire, Fault::lose_reply);
  const TimePoint before = BootClock::now();
  EXPECT_FALSE(beneath_.ask({write("a")}));
  EXPECT_EQ(kinds(), "renew renewed ask unknown");
  const history::Log log = recorder_->log();
  EXPECT_GE(log.events[2].time, before);
  EXPECT_LE(log.events[2].time, log.events[3].time);
}

TEST_F(RecordingBackendTest, AConversionNamesTheHoldThatItReplaces) {
  const Stamp reader = attempts_.take({read("a")}).stamp;
  const Stamp writer = attempts_.take({write("a")}, {.replaces = reader}).stamp;
  EXPECT_EQ(kinds(), "ask granted ask replace granted");
  const history::Log log = recorder_->log();
  EXPECT_EQ(std::get<history::Replace>(log.events[3].what).stamp, reader);
  EXPECT_EQ(check().counts.upgrades, 1U);
  attempts_.take({read("a")}, {.replaces = writer});
  EXPECT_EQ(check().counts.downgrades, 1U);
  EXPECT_EQ(check().counts.unconverted, 0U);
  // Beneath the API, only one that was perhaps granted.
  store_->script(Call::try_acquire, Fault::lose_reply);
  EXPECT_FALSE(beneath_.ask({write("a")}, {.replaces = writer}));
  EXPECT_TRUE(kinds().ends_with("granted ask replace unknown")) << kinds();
}

TEST_F(RecordingBackendTest, AGrantThatCameTooLateIsOnePerhapsGranted) {
  // Its lease is over before it is answered: the margin of a lease is at least 50 ms.
  const Grant late = beneath_.take({write("a")}, {.lease = std::chrono::milliseconds(1)});
  EXPECT_TRUE(late.stamp);
  EXPECT_EQ(kinds(), "ask unknown");
}

}  // namespace
}  // namespace lockset::test
