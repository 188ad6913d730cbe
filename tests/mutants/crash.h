// One client gets grants and keeps them; the store suffers a misfortune; another client asks for
// the same names. The history is checked against the rules.
#pragma once

#include <functional>

#include "history/check.h"
#include "tests/mutants/load.h"

namespace lockset::mutants {

inline constexpr std::size_t names_before_the_crash = 20;  // "n0" to "n19"

// `connect` opens the store once before and once after. All leases last longer than that.
history::Report crash(const Connect& connect, const std::function<void()>& misfortune);

// Grants are lost, which shows as violations of I1, in one of a few tries: it depends on chance
// whether a server has written something in spite of its settings. `once` makes a new store and
// lets it crash.
void expect_granted_twice(const std::function<history::Report()>& once);
// The first holder kept every name: nothing was granted again, and every name was asked for.
void expect_nothing_lost(const history::Report& report);

}  // namespace lockset::mutants
