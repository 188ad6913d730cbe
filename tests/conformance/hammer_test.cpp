// SEM 4, 5, 8, 10, 20 by brute force: several processes, random sets, some killed.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <random>
#include <sstream>

#include "tests/conformance/hammer_worker.h"
#include "tests/conformance/suite.h"
#include "tests/support/child.h"
#include "tests/support/seed.h"

namespace lockset::conformance {
namespace {

// From `begin` to `end` it was surely held and valid.
struct HeldFor {
  Stamp stamp;
  std::vector<LockRequest> items;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// What the processes wrote down.
struct Story {
  std::map<Stamp, HeldFor> holds;
  std::size_t timeouts = 0;
  Duration longest_wait{};  // of an acquire that was granted

  void read(const std::filesystem::path& path);
  // No grant at all from one to the next, the first and the last apart.
  [[nodiscard]] Duration longest_stall() const;
};

std::vector<LockRequest> parse_items(const std::string& text) {
  std::vector<LockRequest> items;
  std::istringstream in(text);
  for (std::string one; std::getline(in, one, ',');) {
    items.push_back({one.substr(2), one[0] == 'r' ? Mode::read : Mode::write});
  }
  return items;
}

void Story::read(const std::filesystem::path& path) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (in.eof()) break;  // no line end: cut off by the kill
    std::istringstream words(line);
    std::string kind, items;
    Stamp stamp;
    std::int64_t time = 0;
    std::int64_t waited = 0;
    words >> kind;
    if (kind == "E") {
      ADD_FAILURE() << path.filename() << ": " << line;
    } else if (kind == "T") {
      ++timeouts;
    } else if (kind == "G") {
      words >> stamp.value >> time >> items >> waited;
      const bool fresh =
          holds.emplace(stamp, HeldFor{stamp, parse_items(items), time, time}).second;
      EXPECT_TRUE(fresh) << "stamp " << stamp.value << " was granted twice";
      longest_wait = std::max(longest_wait, Duration(waited));
    } else {
      words >> stamp.value >> time;
      holds.at(stamp).end = time;
    }
  }
}

Duration Story::longest_stall() const {
  std::vector<std::int64_t> begins;
  for (const auto& [stamp, hold] : holds) begins.push_back(hold.begin);
  std::sort(begins.begin(), begins.end());
  std::int64_t longest = 0;
  for (std::size_t i = 1; i < begins.size(); ++i) {
    longest = std::max(longest, begins[i] - begins[i - 1]);
  }
  return Duration(longest);
}

// Every fifth name has these, the others have 1; write permits are 1.
constexpr std::uint32_t shared_readers = 3;
bool shared(const std::string& name) { return std::stoul(name.substr(1)) % 5 == 4; }

// Walks through the holds of one name, in the order of their beginning, and holds them
// against the admission rule and the order of stamps.
class NameHistory {
 public:
  explicit NameHistory(const std::string& name)
      : name_(name), readers_(shared(name) ? shared_readers : 1) {}

  // The number of conflicts with earlier ones that were settled in the right order.
  std::size_t add(const HeldFor& hold, Mode mode) {
    std::erase_if(live_, [&](const auto& other) { return other.first->end <= hold.begin; });
    std::size_t reads = 0;
    for (const auto& [other, other_mode] : live_) {
      if (mode == Mode::read && other_mode == Mode::read && ++reads < readers_) continue;
      ADD_FAILURE() << name_ << ": " << describe(other->items) << " (" << other->stamp.value
                    << ") and " << describe(hold.items) << " (" << hold.stamp.value
                    << ") were held at once";
    }
    live_.emplace_back(&hold, mode);
    const bool alone = mode == Mode::write || readers_ == 1;
    const Stamp before = alone ? std::max(last_write_, last_read_) : last_write_;
    EXPECT_LT(before, hold.stamp) << name_ << ": stamps against the order of the holders";
    Stamp& last = mode == Mode::write ? last_write_ : last_read_;
    last = std::max(last, hold.stamp);
    return before ? 1 : 0;
  }

 private:
  const std::string name_;
  const std::size_t readers_;
  std::vector<std::pair<const HeldFor*, Mode>> live_;
  Stamp last_write_;
  Stamp last_read_;
};

// SEM 4, 20: no two in conflict at once. SEM 8: the later one has the greater stamp.
std::size_t check(const Story& story) {
  std::vector<const HeldFor*> by_begin;
  for (const auto& [stamp, hold] : story.holds) by_begin.push_back(&hold);
  std::sort(by_begin.begin(), by_begin.end(),
            [](const HeldFor* a, const HeldFor* b) { return a->begin < b->begin; });
  std::map<std::string, NameHistory> names;
  std::size_t conflicts = 0;
  for (const HeldFor* hold : by_begin) {
    for (const LockRequest& item : hold->items) {
      conflicts += names.try_emplace(item.name, item.name).first->second.add(*hold, item.mode);
    }
    if (testing::Test::HasFailure()) break;  // the first one is enough to read
  }
  return conflicts;
}

std::uintmax_t logged(const std::filesystem::path& folder) {
  std::uintmax_t bytes = 0;
  for (const auto& log : std::filesystem::directory_iterator(folder)) bytes += log.file_size();
  return bytes;
}

class Hammer : public Conformance {};

// LOCKSET_TEST_HAMMER_PROCESSES, _NAMES and _SECONDS make more of it.
TEST_P(Hammer, KilledProcessesBreakNoPromise) {
  if (skip_unless(!space().url().empty(), "other processes")) return;
  const std::uint64_t seed = test::test_seed();
  SCOPED_TRACE(test::describe_seed(seed));
  const std::size_t processes = test::number_from_environment("LOCKSET_TEST_HAMMER_PROCESSES", 4);
  const std::size_t names = test::number_from_environment("LOCKSET_TEST_HAMMER_NAMES", 5);
  const auto seconds =
      static_cast<int>(test::number_from_environment("LOCKSET_TEST_HAMMER_SECONDS", 0));
  const Duration least_time = seconds > 0 ? Duration(std::chrono::seconds(seconds)) : 2500ms;
  ASSERT_GE(processes, 1U);
  ASSERT_GE(names, 5U);
  const auto seconds_at_most = std::chrono::ceil<std::chrono::seconds>(least_time + 2min).count();
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("lockset-hammer-" + Token::random().hex());
  std::filesystem::create_directory(folder);
  for (std::size_t i = 4; i < names; i += 5) {
    client().set_permits("n" + std::to_string(i), Mode::read, shared_readers);
  }

  std::mt19937_64 dice(seed);
  std::size_t started = 0;
  std::size_t kills = 0;
  const auto start = [&] {
    const std::string log = (folder / std::to_string(started)).string();
    const std::uint64_t child_seed = seed % 1'000'000'000 + started++;
    return std::make_unique<test::Child>(std::vector<std::string>{
        LOCKSET_HOLDER, "hammer", space().url(), std::to_string(seconds_at_most),
        std::to_string(child_seed), log, std::to_string(names)});
  };
  std::vector<std::unique_ptr<test::Child>> children;
  for (std::size_t i = 0; i < processes; ++i) children.push_back(start());
  // Killed at random moments, so that they hold, wait, renew or are inside a step of
  // the store just then; others take their places. The last ones run to their end.
  // On a slow disk it goes on until enough has happened to be worth a look.
  constexpr std::uintmax_t enough_logged = 60'000;
  const TimePoint began = BootClock::now();
  const auto lasted = [&](Duration time) { return BootClock::now() - began >= time; };
  while (!lasted(least_time) || (logged(folder) < enough_logged && !lasted(60s))) {
    const TimePoint next = BootClock::now() + std::chrono::milliseconds(100 + dice() % 300);
    eventually([&] { return BootClock::now() >= next; });
    std::unique_ptr<test::Child>& victim = children.at(dice() % processes);
    victim->kill();
    ++kills;
    victim = start();
  }
  const Duration took = BootClock::now() - began;
  std::ofstream(folder / stop_file).put('\n');
  for (const auto& child : children) EXPECT_EQ(child->wait(), 0);

  Story story;
  for (std::size_t i = 0; i < started; ++i) story.read(folder / std::to_string(i));
  std::filesystem::remove_all(folder);
  const std::size_t conflicts = check(story);
  EXPECT_GE(story.holds.size(), 200U) << "hardly any progress";
  EXPECT_GE(conflicts, names <= 10 ? 100U : 10U) << "hardly any conflicts";
  EXPECT_GE(kills, 5U) << "hardly any kills";
  EXPECT_LT(story.longest_stall(), 10s) << "no progress for a while";

  // SEM 10: what the killed ones left ends with its lease, and nothing else is left.
  Client c = client();
  EXPECT_TRUE(eventually([&] { return c.holds().empty(); })) << "a hold that does not end";
  EXPECT_TRUE(eventually([&] { return backend()->sweep(soon()).value() == 0; }));
  const std::size_t left = space().look().size();
  EXPECT_EQ(left, 0U) << "something is left in the store";
  std::cout << "hammer on " << harness().name() << ": " << processes << " processes, " << names
            << " names, " << format_duration(took) << ": " << story.holds.size() << " grants, "
            << conflicts << " conflicts in the right order, " << kills << " kills, "
            << story.timeouts << " timeouts, longest wait " << format_duration(story.longest_wait)
            << ", longest time without a grant " << format_duration(story.longest_stall()) << ", "
            << left << " holds left; seed " << seed << "\n";
}

LOCKSET_CONFORMANCE_SUITE(Hammer);

}  // namespace
}  // namespace lockset::conformance
