// The rivals of each store do what they are measured for: a floor that locks nothing, or holds that
// no grant could have made, would make every number worthless.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

#include "benchmarks/space.h"
#include "lockset/lockset.h"
#include "tests/support/private_server.h"
#include "tests/support/requirement.h"
#include "tests/support/wait.h"

namespace lockset::bench {
namespace {

using namespace std::chrono_literals;
using test::PrivateServer;

struct Kind {
  std::string name;
  std::string server;  // empty: none
  std::string params;
};

void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

std::vector<Kind> kinds() {
  return {
#ifdef LOCKSET_HAS_SQLITE
      {"sqlite", "", ""},
#endif
#ifdef LOCKSET_HAS_POSTGRESQL
      {"postgresql_advisory", "postgresql", "space=a&strategy=advisory"},
      {"postgresql_serializable", "postgresql", "space=s&strategy=serializable"},
#endif
#ifdef LOCKSET_HAS_MYSQL
      {"mariadb_select_for_update", "mariadb", "space=s&strategy=select-for-update"},
      {"mariadb_unique_index", "mariadb", "space=u&strategy=unique-index"},
#endif
#ifdef LOCKSET_HAS_REDIS
      {"redis", "redis", ""},
#endif
#ifdef LOCKSET_HAS_ZOOKEEPER
      {"zookeeper", "zookeeper", ""},
#endif
      {"memory", "", ""},
  };
}

class Rivals : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    const Kind& kind = GetParam();
    std::string address = "memory:";
    if (!kind.server.empty()) {
      if (!test::have_server(kind.server)) return;
      // One server of each kind for all its tests.
      static std::map<std::string, std::unique_ptr<PrivateServer>> servers;
      auto& server = servers[kind.server];
      if (!server) server = std::make_unique<PrivateServer>(kind.server);
      address = server->admin_url();
      if (!kind.params.empty()) {
        address += (address.find('?') == std::string::npos ? "?" : "&") + kind.params;
      }
    } else if (kind.name == "sqlite") {
      folder_ = testing::TempDir() + "lockset-rivals-" + std::to_string(::getpid());
      std::filesystem::create_directory(folder_);
      address = "sqlite:" + folder_ + "/locks.db";
    }
    std::vector<std::string> complaints;
    auto made = spaces({&address, 1}, complaints);
    ASSERT_THAT(complaints, testing::IsEmpty());
    target_ = std::move(made.at(0));
    prepare(*target_);
  }

  void TearDown() override {
    if (target_) clean(*target_);
    if (!folder_.empty()) {
      EXPECT_TRUE(std::filesystem::is_empty(folder_)) << "clean() leaves files";
      std::filesystem::remove_all(folder_);
    }
  }

  [[nodiscard]] const Target& target() const { return *target_; }
  [[nodiscard]] std::vector<Rival> rivals() const {
    std::vector<Rival> all{lockset_rival};
    all.insert(all.end(), target().store->rivals.begin(), target().store->rivals.end());
    return all;
  }

 private:
  std::string folder_;
  std::optional<Target> target_;
};

const std::vector<std::string> one{"bench-one"};
const std::vector<std::string> two{"bench-one", "bench-two"};

TEST_P(Rivals, TakeAndGiveAgainAndAgain) {
  for (const Rival& rival : rivals()) {
    SCOPED_TRACE(rival.name);
    const auto entry = rival.enter(target().url);
    const auto client = entry->connect();
    for (int i = 0; i < 3; ++i) {
      client->lock(rival.most_names > 1 ? two : one, Mode::write);
      client->unlock();
      if (!rival.reads) continue;
      client->lock(one, Mode::read);
      client->unlock();
    }
  }
}

// Whether a client gets the name of another one only after that one has released it.
bool exclude_each_other(Entry& entry, bool waits) {
  const auto holder = entry.connect();
  const TimePoint asked = BootClock::now();
  holder->lock(one, Mode::write);
  const Duration one_lock = BootClock::now() - asked;
  const auto other = entry.connect();
  if (!waits) {
    bool refused = false;
    try {
      other->lock(one, Mode::write);
      other->unlock();
    } catch (const std::runtime_error&) {
      refused = true;
    }
    holder->unlock();
    return refused;
  }
  std::atomic<bool> asks = false;
  std::atomic<bool> released = false;
  std::atomic<bool> before_the_release = false;
  std::jthread waiter([&] {
    asks = true;
    other->lock(one, Mode::write);
    before_the_release = !released;
    other->unlock();
  });
  while (!asks) std::this_thread::yield();
  // No rival says when it waits. One that admits both takes no longer than the holder did.
  const test::Stopwatch since_it_asks;
  const Duration enough = std::clamp<Duration>(10 * one_lock, 100ms, 1s);
  while (since_it_asks.elapsed() < enough && !before_the_release) {
    std::this_thread::sleep_for(5ms);
  }
  released = true;
  holder->unlock();
  waiter.join();
  return !before_the_release;
}

TEST_P(Rivals, ExcludeEachOther) {
  for (const Rival& rival : rivals()) {
    SCOPED_TRACE(rival.name);
    const auto entry = rival.enter(target().url);
    EXPECT_TRUE(exclude_each_other(*entry, rival.waits));
  }
}

// A rival that excludes nobody, as slow as a server.
class NoLock final : public Entry {
 public:
  std::unique_ptr<Client> connect() override { return std::make_unique<Nothing>(); }

 private:
  class Nothing final : public Client {
    void lock(std::span<const std::string> /*names*/, Mode /*mode*/) override {
      std::this_thread::sleep_for(20ms);
    }
    void unlock() override {}
  };
};

TEST(RivalsControl, OneThatExcludesNobodyIsNoticed) {
  NoLock entry;
  EXPECT_FALSE(exclude_each_other(entry, true));
  EXPECT_FALSE(exclude_each_other(entry, false));
}

TEST_P(Rivals, TheFloorComesFirst) {
  const auto& rivals = target().store->rivals;
  if (GetParam().name == "memory") {
    EXPECT_TRUE(std::ranges::none_of(rivals, [](const Rival& r) { return r.role == Role::floor; }));
    return;
  }
  ASSERT_FALSE(rivals.empty());
  EXPECT_EQ(rivals[0].role, Role::floor);
  for (const Rival& rival : rivals.subspan(1)) EXPECT_EQ(rival.role, Role::native);
}

TEST_P(Rivals, HoldsThatWereFilledInAreLikeGrantedOnes) {
  const RivalStore& store = *target().store;
  if (store.fill == nullptr) {
    EXPECT_EQ(GetParam().name, "memory");
    return;
  }
  store.fill(target().filled, 200);
  Locks locks = open(target().filled.text).value();
  const Inspection snapshot = locks.inspect().value();
  ASSERT_EQ(snapshot.holds.size(), 200U);
  const HoldInfo& some = snapshot.holds[100];
  EXPECT_EQ(some.owner.app, "filler");
  ASSERT_EQ(some.items.size(), 1U);
  EXPECT_TRUE(some.items[0].name.starts_with("filler-"));
  EXPECT_EQ(some.items[0].mode, Mode::write);
  ASSERT_TRUE(some.remaining);
  EXPECT_GT(*some.remaining, std::chrono::minutes(3));

  // They block others until they are broken, and are older than what comes after.
  EXPECT_FALSE(locks.try_acquire({write(some.items[0].name)}).value());
  const Hold beside = locks.acquire({write("bench-beside")}).value();
  EXPECT_GT(beside.stamp(), snapshot.holds.back().stamp);
  locks.break_hold(some.stamp).value();
  EXPECT_TRUE(locks.try_acquire({write(some.items[0].name)}).value());

  // fill() can't remove them if there is a gap in their row.
  for (const HoldInfo& each : locks.inspect().value().holds) (void)locks.break_hold(each.stamp);
}

TEST_P(Rivals, FillingGoesUpAndDown) {
  const RivalStore& store = *target().store;
  if (store.fill == nullptr) return;
  for (const std::uint64_t count : {10U, 50U, 0U, 5U}) {
    store.fill(target().filled, count);
    Locks locks = open(target().filled.text).value();
    EXPECT_EQ(locks.inspect().value().holds.size(), count);
  }
  store.fill(target().filled, 0);
}

INSTANTIATE_TEST_SUITE_P(All, Rivals, testing::ValuesIn(kinds()),
                         [](const auto& kind) { return kind.param.name; });

}  // namespace
}  // namespace lockset::bench

int main(int argc, char** argv) { return lockset::test::run_tests(argc, argv); }
