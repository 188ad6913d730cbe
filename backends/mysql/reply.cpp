#include "backends/mysql/reply.h"

#include <algorithm>
#include <charconv>

namespace lockset::mysql {

std::vector<std::int64_t> numbers_of(std::string_view list) {
  std::vector<std::int64_t> numbers;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    std::int64_t value = 0;
    std::from_chars(list.data(), list.data() + end, value);
    numbers.push_back(value);
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return numbers;
}

Error nonsense(const Store& store) {
  return Error{Errc::internal, store.options().shown() +
                                   ": a procedure gave an answer that makes no sense; run lockset "
                                   "init"};
}

}  // namespace lockset::mysql
