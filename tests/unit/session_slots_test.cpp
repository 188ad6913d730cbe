// The sessions of a client and the holds in them, without a server: in which order a session ends
// and its holders are told. SEM 10
#include "backends/server/session_slots.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace lockset::server {
namespace {

using Said = std::vector<std::string>;

class FakeCarrier final : public Carrier {
 public:
  FakeCarrier(Said& said, bool& over) : said_(said), over_(over) {}
  ~FakeCarrier() override { said_.emplace_back("ended"); }

  [[nodiscard]] Outcome outcome() const noexcept override { return outcome_; }
  [[nodiscard]] bool owes() const noexcept override { return false; }
  bool settle(TimePoint) override { return true; }
  // It does not learn whether that was done.
  bool unlock(std::span<const LockKey>, TimePoint) override {
    give_up();
    return false;
  }
  bool end_after(Duration, TimePoint) override { return true; }
  [[nodiscard]] bool hung_up() const noexcept override { return over_; }
  [[nodiscard]] int fd() const noexcept override { return -1; }
  void give_up() noexcept override { outcome_ = Outcome::broken; }

 private:
  Said& said_;
  bool& over_;
  Outcome outcome_ = Outcome::answered;
};

class SessionSlots : public testing::Test {
 protected:
  SessionSlots() {
    slots_.tell_losses(
        [this](Stamp stamp) { said_.push_back("lost " + std::to_string(stamp.value)); });
  }
  static TimePoint soon() { return BootClock::now() + std::chrono::minutes(1); }
  // In the one session that there is.
  void add(std::int64_t stamp) {
    const std::vector<LockKey> keys{{stamp, false}};
    Slot* const slot = slots_.take_for(keys, std::chrono::minutes(10), soon()).value().value();
    slots_.add({.stamp = Stamp{stamp},
                .token = Token::random(),
                .set = LockSet::make({{std::to_string(stamp), Mode::write}}).value(),
                .owner = {},
                .keys = keys,
                .slot = slot,
                .ends = BootClock::now() + std::chrono::minutes(10)});
    slots_.give_back(slot);
  }

  Said said_;
  bool over_ = false;
  Slots slots_{[this](TimePoint) -> Result<std::unique_ptr<Carrier>> {
                 return std::unique_ptr<Carrier>(new FakeCarrier(said_, over_));
               },
               "a server", 1};
};

// The server frees what a session held as soon as it ends: nobody may believe in it by then.
TEST_F(SessionSlots, AClientThatGivesASessionUpTellsItsHoldersFirst) {
  add(1);
  add(2);
  add(3);
  EXPECT_FALSE(slots_.end(Stamp{2}, soon()));
  EXPECT_EQ(said_, (Said{"lost 1", "lost 3", "ended"}));
}

TEST_F(SessionSlots, SoDoesTheWatcher) {
  add(1);
  over_ = true;
  slots_.tend(BootClock::now());
  EXPECT_EQ(said_, (Said{"lost 1", "ended"}));
}

TEST_F(SessionSlots, AndOneWhoseTicketIsGone) {
  add(1);
  Slot* const slot = slots_.take_free();
  ASSERT_NE(slot, nullptr);
  slots_.abandon(slot);
  EXPECT_EQ(said_, (Said{"lost 1", "ended"}));
}

}  // namespace
}  // namespace lockset::server
