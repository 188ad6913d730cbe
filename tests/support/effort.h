// How much a test does of what may fail only now and then: little in the gate, for its time is
// limited, and more in scripts/nightly.
#pragma once

namespace lockset::test {

// Whether LOCKSET_TEST_THOROUGH is set to something but 0.
bool thorough();

inline int rounds(int gate, int nightly) { return thorough() ? nightly : gate; }

}  // namespace lockset::test
