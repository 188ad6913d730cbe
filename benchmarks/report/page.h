#pragma once
#include <string>

#include "benchmarks/report/results.h"
namespace lockset::bench {
inline std::string page(const Json&) { return "<html></html>"; }
}  // namespace lockset::bench
