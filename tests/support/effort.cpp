#include "tests/support/effort.h"

#include "tests/support/seed.h"

namespace lockset::test {

bool thorough() { return number_from_environment("LOCKSET_TEST_THOROUGH", 0) != 0; }

}  // namespace lockset::test
