// Which stores must be there, and what becomes of tests whose store is not.
#pragma once

#include <string>
#include <string_view>

namespace lockset::test {

// LOCKSET_TEST_REQUIRE names it ("all", or names with commas between): tests may not skip.
bool required(std::string_view name);

// For SetUp of a test that starts a private server of this kind: true if there can be one.
// Otherwise the test is a failure by now if the server is required, else skipped, with the
// reason; SetUp returns then. Looks once per kind and run.
bool have_server(const std::string& kind);

// Runs what GoogleTest has. 0 passed, 1 failed, 77 when every selected test was skipped
// (SKIP_RETURN_CODE of the ctest entries).
int run_tests(int argc, char** argv);

}  // namespace lockset::test
