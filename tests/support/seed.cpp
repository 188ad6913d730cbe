#include "tests/support/seed.h"

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string_view>

namespace lockset::test {

std::uint64_t number_from_environment(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return otherwise;
  char* end = nullptr;
  const std::uint64_t value = std::strtoull(text, &end, 10);
  if (*end != '\0') {
    std::fprintf(stderr, "%s=%s is not a number\n", variable, text);
    std::abort();
  }
  return value;
}

std::uint64_t test_seed() {
  const char* const text = std::getenv("LOCKSET_TEST_SEED");
  if (text != nullptr && std::string_view(text) == "random") return std::random_device()();
  return number_from_environment("LOCKSET_TEST_SEED", 1);
}

std::string describe_seed(std::uint64_t seed) {
  return "LOCKSET_TEST_SEED=" + std::to_string(seed);
}

}  // namespace lockset::test
