// lockset_recorder_cost URL FOLDER [ROUNDS]: what recording costs the recorded program. Takes,
// checks and releases a set of two names, alternately without recording and with recording to a
// file. Prints the operations per second of each, their ratio, and the cost of one line (medians
// over the rounds).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "lockset/lockset.h"
#include "tests/chaos/recorded_locks.h"

namespace {

using namespace lockset;

constexpr Duration round_time = std::chrono::milliseconds(500);

template <class Operation>
double per_second(Operation&& operation) {
  const TimePoint begin = BootClock::now();
  std::size_t done = 0;
  while (BootClock::now() - begin < round_time) {
    operation();
    ++done;
  }
  const std::chrono::duration<double> took = BootClock::now() - begin;
  return static_cast<double>(done) / took.count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int run(const std::string& url, const std::filesystem::path& folder, int rounds) {
  const std::vector<LockRequest> set{write("one"), write("two")};
  Locks plain = lockset::open(url, {.app = "plain"}).value();
  const std::filesystem::path log = folder / "cost.log";
  const auto recorder = std::make_shared<test::Recorder>("cost", log.string());
  const auto recorded = chaos::RecordedLocks::open(
      {.url = url, .app = "recorded", .lease = std::chrono::seconds(30)}, recorder, {});
  std::vector<double> without;
  std::vector<double> with;
  std::vector<double> ratio;
  for (int i = 0; i < rounds; ++i) {
    without.push_back(per_second([&] {
      Hold hold = plain.try_acquire(set).value().value();
      if (!hold.valid() || !hold.release()) throw std::runtime_error("the hold was lost");
    }));
    with.push_back(per_second([&] {
      bool trouble = false;
      const auto hold = recorded->acquire({set}, trouble);
      if (!hold || !hold->valid()) throw std::runtime_error("the hold was lost");
      hold->release();
    }));
    ratio.push_back(with.back() / without.back());
  }
  // ask, granted, valid, release, released.
  constexpr double lines = 5;
  const double of_one = (1 / median(with) - 1 / median(without)) / lines * 1e6;
  std::printf("without %.0f/s, recorded %.0f/s, ratio %.2f, %.1f us for each line\n",
              median(without), median(with), median(ratio), of_one);
  std::filesystem::remove(log);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    std::fprintf(stderr, "usage: lockset_recorder_cost URL FOLDER [ROUNDS]\n");
    return 64;
  }
  try {
    return run(argv[1], argv[2], argc == 4 ? std::max(1, std::atoi(argv[3])) : 9);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lockset_recorder_cost: %s\n", error.what());
    return 1;
  }
}
