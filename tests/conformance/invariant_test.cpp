// SEM 4, 5, 9 from the holder's side: the data that the locks guard stays consistent.
#include <atomic>
#include <map>
#include <random>
#include <thread>

#include "tests/conformance/suite.h"
#include "tests/support/seed.h"

namespace lockset::conformance {
namespace {

// A counter that only a lock makes safe: read, let others run, write back. It is an atomic object,
// so that a broken lock shows as a lost update and not as a data race.
class Guarded {
 public:
  [[nodiscard]] long read() const { return value_.load(std::memory_order_relaxed); }
  void bump() {
    const long old = read();
    linger(50us);
    value_.store(old + 1, std::memory_order_relaxed);
  }

 private:
  std::atomic<long> value_ = 0;
};

class Invariants : public Conformance {};

// SEM 4: no update is lost under a write lock
TEST_P(Invariants, NoUpdateIsLostUnderAWriteLock) {
  constexpr std::size_t threads = 4;
  const int updates = rounds(100, 50);
  Guarded counter;
  Progress progress;
  run_threads(threads, [&](std::size_t i) {
    Client c(open());
    int done = 0;
    while (done < updates && !progress.stuck()) {
      const TimePoint asked = BootClock::now();
      const std::optional<Grant> grant = c.try_take({write("counter")});
      if (!grant) {
        pause_after_try(asked);
        continue;
      }
      counter.bump();
      ++done;
      progress.step();
      if (!c.release(grant->stamp)) ADD_FAILURE() << "not held any more";
    }
    EXPECT_EQ(done, updates) << "thread " << i << " got stuck";
  });
  EXPECT_EQ(counter.read(), static_cast<long>(threads) * updates);
}

// SEM 4, 5: sets over several counters; readers see none of their counters change
TEST_P(Invariants, ReadersSeeNothingMove) {
  constexpr std::size_t threads = 4;
  const int rounds = this->rounds(150, 60);
  const std::uint64_t seed = test::test_seed();
  SCOPED_TRACE(test::describe_seed(seed));
  {
    Client admin = client("admin");
    admin.set_permits("*", Mode::read, max_permits);
  }
  std::map<std::string, Guarded> counters;
  for (const char* name : {"a", "b", "c", "d"}) counters[name];
  std::map<std::string, std::atomic<long>> written;
  for (const auto& [name, counter] : counters) written[name];
  std::atomic<int> reads = 0;
  std::atomic<int> together = 0;  // rounds in which another reader was inside too
  constexpr int enough_together = 10;
  std::atomic<int> readers_inside = 0;
  Progress progress;
  run_threads(threads, [&](std::size_t i) {
    std::mt19937_64 dice(seed + i);
    Client c(open());
    int done = 0;
    // They meet by chance.
    const auto enough = [&] {
      return done >= rounds && (together >= enough_together || done >= 20 * rounds);
    };
    while (!enough() && !progress.stuck()) {
      std::map<std::string, Mode> chosen;
      const bool all_read = dice() % 2 == 0;
      for (std::size_t k = 0; k < 2; ++k) {
        const std::string name(1, static_cast<char>('a' + dice() % 4));
        chosen[name] = all_read || dice() % 3 != 0 ? Mode::read : Mode::write;
      }
      Wanted wanted;
      for (const auto& [name, mode] : chosen) wanted.push_back({name, mode});
      const TimePoint asked = BootClock::now();
      const std::optional<Grant> grant = c.try_take(wanted);
      if (!grant) {
        pause_after_try(asked);
        continue;
      }
      if (all_read && ++readers_inside > 1) ++together;
      std::map<std::string, long> seen;
      for (const auto& [name, mode] : chosen) seen[name] = counters.at(name).read();
      for (const auto& [name, mode] : chosen) {
        if (mode == Mode::write) {
          counters.at(name).bump();
          ++written.at(name);
        }
      }
      linger(std::chrono::microseconds(dice() % 400));
      for (const auto& [name, mode] : chosen) {
        const long expected = seen.at(name) + (mode == Mode::write ? 1 : 0);
        if (counters.at(name).read() != expected) ADD_FAILURE() << name << " moved";
        if (mode == Mode::read) ++reads;
      }
      if (all_read) --readers_inside;
      ++done;
      progress.step();
      if (!c.release(grant->stamp)) ADD_FAILURE() << "not held any more";
    }
    EXPECT_GE(done, rounds) << "thread " << i << " got stuck";
  });
  EXPECT_GE(together, enough_together) << "readers hardly met";
  for (const auto& [name, counter] : counters) EXPECT_EQ(counter.read(), written.at(name)) << name;
  EXPECT_GE(reads, rounds) << "hardly any reads";
  EXPECT_TRUE(space().look().empty());
}

// SEM 4: permits above 1 are counted: never more holders inside, and at times exactly that many
TEST_P(Invariants, PermitsAreNeverExceeded) {
  if (skip_unless(traits().counted_permits, "counted permits")) return;
  constexpr std::size_t threads = 6;
  const int rounds = this->rounds(80, 40);
  constexpr int write_permits = 2;
  constexpr int read_permits = 3;
  {
    Client admin = client("admin");
    admin.set_permits("a", Mode::write, write_permits);
    admin.set_permits("a", Mode::read, read_permits);
  }
  std::atomic<int> readers = 0;
  std::atomic<int> writers = 0;
  std::atomic<bool> full_of_readers = false;
  std::atomic<bool> full_of_writers = false;
  Progress progress;
  run_threads(threads, [&](std::size_t i) {
    Client c(open());
    int done = 0;
    // They meet by chance.
    const auto enough = [&] {
      return done >= rounds && ((full_of_readers && full_of_writers) || done >= 20 * rounds);
    };
    while (!enough() && !progress.stuck()) {
      const Mode mode = (static_cast<std::size_t>(done) + i) % 2 == 0 ? Mode::read : Mode::write;
      const TimePoint asked = BootClock::now();
      const std::optional<Grant> grant = c.try_take({{"a", mode}});
      if (!grant) {
        pause_after_try(asked);
        continue;
      }
      std::atomic<int>& mine = mode == Mode::read ? readers : writers;
      const std::atomic<int>& others = mode == Mode::read ? writers : readers;
      std::atomic<bool>& full = mode == Mode::read ? full_of_readers : full_of_writers;
      const int now = ++mine;
      const int permits = mode == Mode::read ? read_permits : write_permits;
      if (now == permits) full = true;
      if (now > permits) {
        ADD_FAILURE() << now << " inside as " << to_string(mode);
      }
      // Until all permits were taken once: so that they meet on a busy machine, too.
      const TimePoint until = BootClock::now() + 50ms;
      do linger(200us);
      while (!full && BootClock::now() < until);
      if (others != 0) ADD_FAILURE() << "readers and writers together";
      --mine;
      ++done;
      progress.step();
      if (!c.release(grant->stamp)) ADD_FAILURE() << "not held any more";
    }
    EXPECT_GE(done, rounds) << "thread " << i << " got stuck";
  });
  EXPECT_TRUE(full_of_readers) << "never were all permits taken";
  EXPECT_TRUE(full_of_writers) << "never were all permits taken";
}

// SEM 13: everybody makes progress when waiting as the core does
TEST_P(Invariants, WaitersAllGetTheirTurn) {
  constexpr std::size_t threads = 5;
  constexpr int rounds = 20;
  Guarded counter;
  Progress progress;
  run_threads(threads, [&](std::size_t i) {
    Client c(open());
    for (int round = 0; round < rounds; ++round) {
      std::shared_ptr<WaitTicket> ticket;
      for (;;) {
        if (progress.stuck()) {
          ADD_FAILURE() << "thread " << i << " waited in vain in round " << round;
          return;
        }
        Result<AcquireOutcome> outcome =
            c.ask({write("a"), write("b")}, {.will_wait = true, .ticket = ticket});
        if (!outcome) {
          ADD_FAILURE() << test::describe(outcome);
          return;
        }
        if (Busy* busy = std::get_if<Busy>(&*outcome)) {
          ticket = std::move(busy->ticket);
          (void)c.backend().await_change(*ticket, BootClock::now() + 50ms, {});
          continue;
        }
        counter.bump();
        progress.step();
        if (!c.release(std::get<Grant>(*outcome).stamp)) ADD_FAILURE() << "not held any more";
        break;
      }
    }
  });
  EXPECT_EQ(counter.read(), static_cast<long>(threads) * rounds);
}

LOCKSET_CONFORMANCE_SUITE(Invariants);

}  // namespace
}  // namespace lockset::conformance
