// Seeds of the randomised tests: the same in each run unless the environment says otherwise, so
// that luck does not judge a change; and always shown, so that a failure can be reproduced.
#pragma once

#include <cstdint>
#include <string>

namespace lockset::test {

// LOCKSET_TEST_SEED; if it is "random", a fresh one for each call; unset: 1.
std::uint64_t test_seed();

// The environment variable as a number, else `otherwise`. A value that is not a number aborts: a
// run with another value than requested would mislead.
std::uint64_t number_from_environment(const char* variable, std::uint64_t otherwise);

// "LOCKSET_TEST_SEED=17", for SCOPED_TRACE.
std::string describe_seed(std::uint64_t seed);

}  // namespace lockset::test
