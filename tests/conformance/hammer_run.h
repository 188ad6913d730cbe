// Several processes use one space as fast as they can; some of them are killed at random moments.
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

  // `otherwise`, but with the values of LOCKSET_TEST_HAMMER_PROCESSES, _NAMES and _SECONDS where
  // they are set.
  static HammerSize from_environment(const HammerSize& otherwise);
};

// Not thread-safe.
class HammerRun {
 public:
  // `client` sets the permits of the names. With `losses` the store may fail or lose its state
  // (hammer_worker.h). Starts the processes.
  HammerRun(test::Client client, const std::string& url, const HammerSize& size, std::uint64_t seed,
            bool losses = false);
  HammerRun(const HammerRun&) = delete;
  HammerRun& operator=(const HammerRun&) = delete;
  ~HammerRun();

  // Kills one a fraction of a second later: it may hold, wait, renew or be inside a step of the
  // store then. Another process replaces it.
  void kill_one();
  [[nodiscard]] std::size_t kills() const noexcept { return kills_; }
  // Bytes that the processes have written so far.
  [[nodiscard]] std::uintmax_t logged() const;
  // Lets the remaining processes run to their end. Returns what all of them wrote.
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
