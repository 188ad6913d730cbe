// Writes a long history that keeps all rules, one file per process, for measuring the checker:
// lockset_history_sample FOLDER OPERATIONS
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "history/text.h"

namespace {

using namespace lockset;
using namespace lockset::history;

constexpr std::uint64_t processes = 16;

struct Worker {
  std::ofstream file;
  std::uint64_t op = 0;
};

void put(Worker& worker, std::int64_t at, What what) {
  worker.file << print({TimePoint(Duration(at)), std::move(what)});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: lockset_history_sample FOLDER OPERATIONS\n");
    return 64;
  }
  const std::uint64_t operations = std::strtoull(argv[2], nullptr, 10);
  std::vector<Worker> workers(processes);
  for (std::uint64_t i = 0; i < processes; ++i) {
    workers[i].file.open(std::string(argv[1]) + "/worker-" + std::to_string(i) + ".log");
    workers[i].file << print_header("worker-" + std::to_string(i));
  }
  std::mt19937_64 random(1);
  std::int64_t now = 1'000'000'000;
  // Sets of one to three out of 32 names in turn. Most are granted, used and released; meanwhile
  // another process asks for the same set and is told busy.
  for (std::uint64_t done = 0; done < operations;) {
    Worker& worker = workers[random() % processes];
    const std::uint64_t op = ++worker.op;
    std::vector<Wish> set;
    for (std::uint64_t i = 0, first = random() % 30; i <= random() % 3; ++i) {
      set.push_back({"name-" + std::to_string(first + i), Mode::write, 1});
    }
    const Stamp stamp{static_cast<std::int64_t>(++done)};
    put(worker, now += 1000, Ask{op, set, Duration(2'000'000'000), {}});
    put(worker, now += 100000, Granted{op, stamp, TimePoint(Duration(now + 1'800'000'000)), {}});
    if (random() % 4 == 0 && done < operations) {
      Worker& other = workers[random() % processes];
      const std::uint64_t refused = ++other.op;
      ++done;
      put(other, now += 1000, Ask{refused, set, Duration(2'000'000'000), {}});
      put(other, now += 100000, Busy{refused, set[0].name, stamp});
    }
    put(worker, now += 1000, Valid{stamp, TimePoint(Duration(now - 500)), true});
    put(worker, now += 1000, Use{stamp, set[0].name, true});
    put(worker, now += 1000, Release{stamp});
    put(worker, now += 100000, Released{stamp});
  }
  const bool good = std::all_of(workers.begin(), workers.end(),
                                [](Worker& worker) { return bool(worker.file.flush()); });
  if (!good) std::fprintf(stderr, "can't write to the folder %s\n", argv[1]);
  return good ? 0 : 74;
}
