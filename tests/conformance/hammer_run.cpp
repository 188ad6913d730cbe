#include "tests/conformance/hammer_run.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>

#include "tests/conformance/hammer_worker.h"
#include "tests/support/seed.h"
#include "tests/support/wait.h"

namespace lockset::conformance {

using namespace std::chrono_literals;

HammerSize HammerSize::from_environment(const HammerSize& otherwise) {
  using test::number_from_environment;
  HammerSize size = otherwise;
  size.processes = number_from_environment("LOCKSET_TEST_HAMMER_PROCESSES", otherwise.processes);
  size.names = number_from_environment("LOCKSET_TEST_HAMMER_NAMES", otherwise.names);
  const auto seconds = static_cast<int>(number_from_environment("LOCKSET_TEST_HAMMER_SECONDS", 0));
  if (seconds > 0) size.time = std::chrono::seconds(seconds);
  return size;
}

HammerRun::HammerRun(test::Client client, const std::string& url, const HammerSize& size,
                     std::uint64_t seed, bool losses)
    : url_(url),
      size_(size),
      seed_(seed),
      losses_(losses),
      folder_(std::filesystem::temp_directory_path() / ("lockset-hammer-" + Token::random().hex())),
      dice_(seed) {
  if (size.processes < 1 || size.names < 5) {
    throw std::invalid_argument("a hammer has at least 1 process and 5 names");
  }
  std::filesystem::create_directory(folder_);
  for (std::size_t i = 0; i < size.names; ++i) {
    const std::string name = "n" + std::to_string(i);
    if (has_hammer_readers(name)) client.set_permits(name, Mode::read, hammer_readers);
  }
  for (std::size_t i = 0; i < size.processes; ++i) children_.push_back(start());
}

HammerRun::~HammerRun() {
  children_.clear();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::unique_ptr<tools::Child> HammerRun::start() {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(size_.time + 2min).count();
  const std::string log = (folder_ / std::to_string(started_)).string();
  const std::uint64_t seed = seed_ % 1'000'000'000 + started_++;
  return std::make_unique<tools::Child>(std::vector<std::string>{
      LOCKSET_HOLDER, "hammer", url_, std::to_string(seconds), std::to_string(seed), log,
      std::to_string(size_.names), losses_ ? "losses" : "none"});
}

void HammerRun::kill_one() {
  const TimePoint next = BootClock::now() + std::chrono::milliseconds(100 + dice_() % 300);
  test::eventually([&] { return BootClock::now() >= next; });
  std::unique_ptr<tools::Child>& victim = children_.at(dice_() % children_.size());
  victim->kill();
  ++kills_;
  victim = start();
}

std::uintmax_t HammerRun::logged() const {
  std::uintmax_t bytes = 0;
  for (const auto& log : std::filesystem::directory_iterator(folder_)) bytes += log.file_size();
  return bytes;
}

Story HammerRun::finish() {
  std::ofstream(folder_ / stop_file).put('\n');
  for (const auto& child : children_) EXPECT_EQ(child->wait(), 0);
  Story story;
  for (std::size_t i = 0; i < started_; ++i) story.read(folder_ / std::to_string(i));
  return story;
}

}  // namespace lockset::conformance
