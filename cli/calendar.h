// Moments for people and for programs.
#pragma once

#include <chrono>
#include <string>

#include "lockset/clock.h"

namespace lockset::cli {

using SystemTime = std::chrono::system_clock::time_point;

std::string local_time(SystemTime when);  // "2026-11-23 09:30:05", for tables
// "3m48s": the two largest units; whole seconds, rounded up.
std::string human_duration(Duration duration);
std::string utc_time(SystemTime when);  // "2026-11-23T09:30:05Z", for JSON

}  // namespace lockset::cli
