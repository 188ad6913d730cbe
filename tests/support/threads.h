// Threads of a test: an exception in one is a failure of the test, not its end.
#pragma once

#include <cstddef>
#include <functional>

namespace lockset::test {

// Runs body(0) .. body(count - 1) at once, started together, and joins them all.
void run_threads(std::size_t count, const std::function<void(std::size_t)>& body);

}  // namespace lockset::test
