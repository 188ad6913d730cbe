// Threads of a test: an exception in a thread fails the test and does not end it.
#pragma once

#include <cstddef>
#include <functional>

namespace lockset::test {

// Runs body(0) .. body(count - 1), all started together, and joins them.
void run_threads(std::size_t count, const std::function<void(std::size_t)>& body);

}  // namespace lockset::test
