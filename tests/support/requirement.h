// The stores that must be available, and what happens to tests whose store is not.
#pragma once

#include <string>
#include <string_view>

namespace lockset::test {

// LOCKSET_TEST_REQUIRE names it ("all", or names with commas between): tests may not skip.
bool required(std::string_view name);

// For SetUp of a test that starts a private server of this kind: true if that is possible.
// Otherwise the test has failed if the server is required, else it is skipped, with the reason;
// SetUp then returns. Looks once per kind and run.
bool have_server(const std::string& kind);

// Runs GoogleTest. 0 passed, 1 failed, 77 if every selected test was skipped (SKIP_RETURN_CODE of
// the ctest entries).
int run_tests(int argc, char** argv);

}  // namespace lockset::test
