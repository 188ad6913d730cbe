// A space for one test of a pattern, on memory or in a SQLite file, and clients of it.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lockset/lockset.h"
#include "tests/sqlite/folder.h"

namespace lockset::patterns_tests {

using namespace std::chrono_literals;

// Reached only if something is broken.
inline constexpr Duration longest_wait = 30s;

// A memory store as if it were a server: what its clients leave stays until its lease ends.
class LastingMemory final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  [[nodiscard]] Traits traits() const override {
    Traits traits = ForwardingBackend::traits();
    traits.holds_outlive_process = true;
    return traits;
  }
};

inline std::unique_ptr<Backend> lasting_memory(const std::shared_ptr<MemoryStore>& store) {
  return std::make_unique<LastingMemory>(make_memory_backend(store));
}

class SpaceTest : public testing::TestWithParam<std::string> {
 protected:
  // One more client of the space; all are of one application.
  Locks open_locks(Options options = {}) {
    if (options.app.empty()) options.app = "app";
    if (GetParam() == "memory") return open(lasting_memory(store_), std::move(options)).value();
    return open(folder_.url("locks.db"), options).value();
  }

  // Another client could take these now. (It gives them back.)
  bool is_free(std::vector<LockRequest> names) {
    return other_.try_acquire(std::move(names)).value().has_value();
  }

  // As a person would; the holder learns of it at its next renewal.
  void break_hold(Stamp stamp) { other_.break_hold(stamp).value(); }

  std::vector<HoldInfo> holds() { return other_.inspect().value().holds; }

 private:
  test::Folder folder_;
  std::shared_ptr<MemoryStore> store_ = make_memory_store();
  Locks other_ = open_locks({.app = "other"});
};

// The code of the LockError that the call throws; unset if it throws none.
inline std::optional<Errc> thrown(const std::function<void()>& call) {
  try {
    call();
  } catch (const LockError& error) {
    return error.error().code;
  }
  return std::nullopt;
}

inline std::vector<std::string> spaces() {
#ifdef LOCKSET_HAS_SQLITE
  return {"memory", "sqlite"};
#else
  return {"memory"};
#endif
}

}  // namespace lockset::patterns_tests

#define LOCKSET_PATTERN_SUITE(suite)                                   \
  INSTANTIATE_TEST_SUITE_P(Spaces, suite, testing::ValuesIn(spaces()), \
                           [](const auto& each) { return each.param; })
