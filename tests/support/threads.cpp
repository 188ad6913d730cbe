#include "tests/support/threads.h"

#include <gtest/gtest.h>

#include <exception>
#include <latch>
#include <thread>
#include <vector>

namespace lockset::test {

void run_threads(std::size_t count, const std::function<void(std::size_t)>& body) {
  std::latch start(static_cast<std::ptrdiff_t>(count));
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      try {
        body(i);
      } catch (const std::exception& e) {
        ADD_FAILURE() << "thread " << i << ": " << e.what();
      }
    });
  }
}

}  // namespace lockset::test
