// How evenly a store serves processes that all want one name: N processes take and give
// it in a loop. Prints what each got and the ratio of the least to the most served.
//
//   lockset_fairness URL [PROCESSES [SECONDS]]
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "lockset/lockset.h"

namespace {

using lockset::BootClock;
using lockset::TimePoint;

struct Served {
  std::int64_t times = 0;
  std::int64_t longest_wait_us = 0;
};

Served serve_until(const std::string& url, TimePoint begin, TimePoint end) {
  lockset::Locks locks = lockset::open(url).value();
  const lockset::LockSet set = lockset::LockSet::make({lockset::write("hammered")}).value();
  while (BootClock::now() < begin) usleep(100);
  Served served;
  for (TimePoint asked = BootClock::now(); asked < end; asked = BootClock::now()) {
    lockset::Hold hold = locks.acquire(set).value();
    const auto waited =
        std::chrono::duration_cast<std::chrono::microseconds>(BootClock::now() - asked).count();
    hold.release().value();
    ++served.times;
    served.longest_wait_us = std::max(served.longest_wait_us, static_cast<std::int64_t>(waited));
  }
  return served;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: lockset_fairness URL [PROCESSES [SECONDS]]\n");
    return 64;
  }
  const std::string url = argv[1];
  const int processes = argc > 2 ? std::atoi(argv[2]) : 8;
  const int seconds = argc > 3 ? std::atoi(argv[3]) : 10;
  const TimePoint begin = BootClock::now() + std::chrono::milliseconds(500);
  const TimePoint end = begin + std::chrono::seconds(seconds);

  int results[2];
  if (pipe(results) != 0) return 71;
  for (int i = 0; i < processes; ++i) {
    if (fork() != 0) continue;
    const Served served = serve_until(url, begin, end);
    _exit(write(results[1], &served, sizeof served) == sizeof served ? 0 : 1);
  }
  close(results[1]);
  std::vector<Served> all;
  for (Served one; read(results[0], &one, sizeof one) == sizeof one;) all.push_back(one);
  while (wait(nullptr) > 0) {
  }
  if (all.size() != static_cast<std::size_t>(processes)) {
    std::fprintf(stderr, "only %zu of %d processes came to an end\n", all.size(), processes);
    return 1;
  }
  std::int64_t total = 0;
  std::int64_t longest = 0;
  const auto fewer = [](const Served& a, const Served& b) { return a.times < b.times; };
  std::sort(all.begin(), all.end(), fewer);
  for (const Served& one : all) {
    total += one.times;
    longest = std::max(longest, one.longest_wait_us);
    std::printf("%lld ", static_cast<long long>(one.times));
  }
  std::printf("\n%d processes, %d s: %lld/s, least/most %.2f, longest wait %.1f ms\n", processes,
              seconds, static_cast<long long>(total / seconds),
              static_cast<double>(all.front().times) / static_cast<double>(all.back().times),
              static_cast<double>(longest) / 1000);
  return 0;
}
