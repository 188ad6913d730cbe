// Numbers for people. ASCII only: terminals and logs don't all show other characters.
#pragma once

#include <cstdint>
#include <string>

#include "benchmarks/report/promises.h"
#include "benchmarks/report/results.h"

namespace lockset::bench {

std::string grouped(std::uint64_t count);  // "12,345"
std::string rate(double per_second);       // "12,345", "3.4"
// Three significant figures, in the unit that fits: "0.45 us", "340 us", "1.23 ms", "12.1 s".
std::string duration(double microseconds);
std::string number(double value, Unit unit);  // "0.81", "1.3x", "1.3%"
std::string bound(double value, Unit unit);   // the same, as short as it was said: "2x"
// "0.81 [0.78-0.84]"; without a range "0.81".
std::string spread(const Spread& value, Unit unit);

}  // namespace lockset::bench
