// The cost of Lockset itself: the memory backend makes no system call for a lock. Promise P8:
// acquire + release of one write lock under 2 microseconds on one thread.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "lockset/lockset.h"

namespace {

using lockset::Hold;
using lockset::Locks;
using lockset::LockSet;

LockSet set_of(std::int64_t names) {
  std::vector<lockset::LockRequest> wanted;
  for (std::int64_t i = 0; i < names; ++i) {
    wanted.push_back(lockset::write("name-" + std::to_string(i)));
  }
  return LockSet::make(std::move(wanted)).value();
}

// The argument is the number of names in the set.
void acquire_release(benchmark::State& state) {
  Locks locks = lockset::open("memory:").value();
  const LockSet set = set_of(state.range(0));
  for ([[maybe_unused]] auto _ : state) {
    Hold hold = locks.acquire(set).value();
    hold.release().value();
  }
}
BENCHMARK(acquire_release)->Arg(1)->Arg(8)->Arg(64);

// The same with that many other holds in the store.
void acquire_release_beside(benchmark::State& state) {
  Locks locks = lockset::open("memory:").value();
  std::vector<Hold> others;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    others.push_back(locks.acquire({lockset::write("other-" + std::to_string(i))}).value());
  }
  const LockSet set = set_of(1);
  for ([[maybe_unused]] auto _ : state) {
    Hold hold = locks.acquire(set).value();
    hold.release().value();
  }
}
BENCHMARK(acquire_release_beside)->Arg(1000)->Arg(100000);

void valid(benchmark::State& state) {
  Locks locks = lockset::open("memory:").value();
  const Hold hold = locks.acquire({lockset::write("name")}).value();
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(hold.valid());
}
BENCHMARK(valid);

}  // namespace

BENCHMARK_MAIN();
