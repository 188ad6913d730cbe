// Several processes that hammer one space, some of them killed at random moments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/conformance/hammer_story.h"
#include "tests/support/client.h"
#include "tools/child.h"

namespace lockset::conformance {

struct HammerSize {
  std::size_t processes = 0;
  std::size_t names = 0;  // at least 5
  Duration time{};

  // Each of `otherwise`, where LOCKSET_TEST_HAMMER_PROCESSES, _NAMES and _SECONDS don't say
  // something else.
  static HammerSize from_environment(const HammerSize& otherwise);
};

// Not thread-safe.
class HammerRun {
 public:
  // `client` gives the names their permits. With `losses` the store may be away or lose its
  // state (hammer_worker.h). Starts the processes.
  HammerRun(test::Client client, const std::string& url, const HammerSize& size, std::uint64_t seed,
            bool losses = false);
  HammerRun(const HammerRun&) = delete;
  HammerRun& operator=(const HammerRun&) = delete;
  ~HammerRun();

  // A fraction of a second later kills one, so that it holds, waits, renews or is inside a
  // step of the store just then; another takes its place.
  void kill_one();
  [[nodiscard]] std::size_t kills() const noexcept { return kills_; }
  // Bytes that they have written down.
  [[nodiscard]] std::uintmax_t logged() const;
  // Lets the last ones run to their end; what all have written down.
  Story finish();

 private:
  std::unique_ptr<tools::Child> start();

  const std::string url_;
  const HammerSize size_;
  const std::uint64_t seed_;
  const bool losses_;
  const std::filesystem::path folder_;
  std::mt19937_64 dice_;
  std::size_t started_ = 0;
  std::size_t kills_ = 0;
  std::vector<std::unique_ptr<tools::Child>> children_;
};

}  // namespace lockset::conformance
