// The form of values in the space's tables and in the procedures' answers.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "backends/mysql/store.h"
#include "lockset/lock_set.h"

namespace lockset::mysql {

inline std::int64_t us(Duration duration) {
  return std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
}

// The rest of a lease; none means without end.
inline Duration left_of(std::optional<std::int64_t> left_us) {
  return left_us ? Duration(std::chrono::microseconds(*left_us)) : Duration::max();
}

inline std::int64_t number(Mode mode) { return mode == Mode::write ? 1 : 0; }
inline Mode mode_of(std::int64_t number) { return number == 1 ? Mode::write : Mode::read; }

// "1,2,3"
std::vector<std::int64_t> numbers_of(std::string_view list);

// For an answer that no procedure of this version gives.
Error nonsense(const Store& store);

}  // namespace lockset::mysql
