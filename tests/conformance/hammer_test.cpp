// SEM 4, 5, 8, 10, 20 by brute force: several processes, random sets, some killed.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
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

std::vector<LockRequest> parse_items(const std::string& text) {
  std::vector<LockRequest> items;
  std::istringstream in(text);
  for (std::string one; std::getline(in, one, ',');) {
    items.push_back({one.substr(2), one[0] == 'r' ? Mode::read : Mode::write});
  }
  return items;
}

void read_log(const std::filesystem::path& path, std::map<Stamp, HeldFor>& holds) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (in.eof()) break;  // no line end: cut off by the kill
    std::istringstream words(line);
    std::string kind, items;
    Stamp stamp;
    std::int64_t time = 0;
    words >> kind;
    if (kind == "E") {
      ADD_FAILURE() << path.filename() << ": " << line;
      continue;
    }
    words >> stamp.value >> time;
    if (kind == "G") {
      words >> items;
      const bool fresh =
          holds.emplace(stamp, HeldFor{stamp, parse_items(items), time, time}).second;
      EXPECT_TRUE(fresh) << "stamp " << stamp.value << " was granted twice";
    } else {
      holds.at(stamp).end = time;
    }
  }
}

bool conflict(const HeldFor& a, const HeldFor& b) {
  for (const LockRequest& x : a.items) {
    for (const LockRequest& y : b.items) {
      // Permits are 1 and 1 here, but for "e": 3 readers.
      const bool both_read = x.mode == Mode::read && y.mode == Mode::read;
      if (x.name == y.name && !(both_read && x.name == "e")) return true;
    }
  }
  return false;
}

// LOCKSET_TEST_HAMMER_SECONDS makes a long run of it.
Duration least_time() {
  const char* seconds = std::getenv("LOCKSET_TEST_HAMMER_SECONDS");
  return seconds ? Duration(std::chrono::seconds(std::atoi(seconds))) : Duration(2500ms);
}

std::uintmax_t logged(const std::filesystem::path& folder) {
  std::uintmax_t bytes = 0;
  for (const auto& log : std::filesystem::directory_iterator(folder)) bytes += log.file_size();
  return bytes;
}

class Hammer : public Conformance {};

TEST_P(Hammer, KilledProcessesBreakNoPromise) {
  if (skip_unless(!space().url().empty(), "other processes")) return;
  const std::uint64_t seed = test::test_seed();
  SCOPED_TRACE(test::describe_seed(seed));
  constexpr std::size_t processes = 4;
  const auto seconds_at_most = std::chrono::ceil<std::chrono::seconds>(least_time() + 2min).count();
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("lockset-hammer-" + Token::random().hex());
  std::filesystem::create_directory(folder);
  client().set_permits("e", Mode::read, 3);

  std::mt19937_64 dice(seed);
  std::size_t started = 0;
  std::size_t kills = 0;
  const auto start = [&] {
    const std::string log = (folder / std::to_string(started)).string();
    const std::uint64_t child_seed = seed % 1'000'000'000 + started++;
    return std::make_unique<test::Child>(
        std::vector<std::string>{LOCKSET_HOLDER, "hammer", space().url(),
                                 std::to_string(seconds_at_most), std::to_string(child_seed), log});
  };
  std::vector<std::unique_ptr<test::Child>> children;
  for (std::size_t i = 0; i < processes; ++i) children.push_back(start());
  // Killed at random moments, so that they hold, wait, renew or are inside a step of
  // the store just then; others take their places. The last ones run to their end.
  // On a slow disk it goes on until enough has happened to be worth a look.
  constexpr std::uintmax_t enough_logged = 60'000;
  const TimePoint began = BootClock::now();
  const auto lasted = [&](Duration time) { return BootClock::now() - began >= time; };
  while (!lasted(least_time()) || (logged(folder) < enough_logged && !lasted(60s))) {
    const TimePoint next = BootClock::now() + std::chrono::milliseconds(100 + dice() % 300);
    eventually([&] { return BootClock::now() >= next; });
    std::unique_ptr<test::Child>& victim = children.at(dice() % processes);
    victim->kill();
    ++kills;
    victim = start();
  }
  std::ofstream(folder / stop_file).put('\n');
  for (const auto& child : children) EXPECT_EQ(child->wait(), 0);

  std::map<Stamp, HeldFor> holds;
  for (std::size_t i = 0; i < started; ++i) read_log(folder / std::to_string(i), holds);
  std::filesystem::remove_all(folder);

  // SEM 4, 20: no two in conflict at once. SEM 8: the later one has the greater stamp.
  std::vector<HeldFor> by_begin;
  for (const auto& [stamp, hold] : holds) by_begin.push_back(hold);
  std::sort(by_begin.begin(), by_begin.end(),
            [](const HeldFor& a, const HeldFor& b) { return a.begin < b.begin; });
  std::size_t pairs = 0;
  std::vector<const HeldFor*> recent;
  for (const HeldFor& hold : by_begin) {
    if (HasFailure()) break;  // the first one is enough to read
    for (const HeldFor* earlier : recent) {
      if (!conflict(*earlier, hold)) continue;
      ++pairs;
      EXPECT_LE(earlier->end, hold.begin)
          << describe(earlier->items) << " (" << earlier->stamp.value << ") and "
          << describe(hold.items) << " (" << hold.stamp.value << ") were held at once";
      EXPECT_LT(earlier->stamp, hold.stamp) << "stamps against the order of the holders";
    }
    recent.push_back(&hold);
    // No hold here lasts longer than a few leases; 200 back is far more than enough.
    if (recent.size() > 200) recent.erase(recent.begin());
  }
  EXPECT_GE(holds.size(), 200U) << "hardly any progress";
  EXPECT_GE(pairs, 100U) << "hardly any conflicts";
  EXPECT_GE(kills, 5U) << "hardly any kills";

  // SEM 10: what the killed ones left ends with its lease, and nothing else is left.
  Client c = client();
  EXPECT_TRUE(eventually([&] { return c.holds().empty(); })) << "a hold that does not end";
  EXPECT_TRUE(eventually([&] { return backend()->sweep(soon()).value() == 0; }));
  EXPECT_TRUE(space().look().empty()) << "something is left in the store";
  RecordProperty("grants", static_cast<int>(holds.size()));
}

LOCKSET_CONFORMANCE_SUITE(Hammer);

}  // namespace
}  // namespace lockset::conformance
