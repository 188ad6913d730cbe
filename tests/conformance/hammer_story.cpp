#include "tests/conformance/hammer_story.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

namespace lockset::conformance {
namespace {

std::vector<LockRequest> parse_items(const std::string& text) {
  std::vector<LockRequest> items;
  std::istringstream in(text);
  for (std::string one; std::getline(in, one, ',');) {
    items.push_back({one.substr(2), one[0] == 'r' ? Mode::read : Mode::write});
  }
  return items;
}

std::string text_of(const HeldFor& hold) {
  std::string text;
  for (const LockRequest& item : hold.items) {
    text += (item.mode == Mode::read ? "r:" : "w:") + item.name + " ";
  }
  return text + "(" + std::to_string(hold.stamp.value) + ", from " + std::to_string(hold.begin) +
         " to " + std::to_string(hold.end) + ")";
}

// Walks through the holds of one name, in the order in which they began, and checks them against
// the admission rule and the order of stamps.
class NameHistory {
 public:
  explicit NameHistory(const std::string& name)
      : name_(name), readers_(has_hammer_readers(name) ? hammer_readers : 1) {}

  // Returns the number of conflicts with earlier holds that were settled in the right order.
  std::size_t add(const HeldFor& hold, Mode mode) {
    std::erase_if(live_, [&](const auto& other) { return other.first->end <= hold.begin; });
    std::size_t reads = 0;
    for (const auto& [other, other_mode] : live_) {
      if (mode == Mode::read && other_mode == Mode::read && ++reads < readers_) continue;
      ADD_FAILURE() << name_ << ": " << text_of(*other) << " and " << text_of(hold)
                    << " were held at once";
    }
    live_.emplace_back(&hold, mode);
    const bool alone = mode == Mode::write || readers_ == 1;
    const Stamp before = alone ? std::max(last_write_, last_read_) : last_write_;
    EXPECT_LT(before, hold.stamp) << name_ << ": stamps against the order of the holders";
    Stamp& last = mode == Mode::write ? last_write_ : last_read_;
    last = std::max(last, hold.stamp);
    return before ? 1 : 0;
  }

 private:
  const std::string name_;
  const std::size_t readers_;
  std::vector<std::pair<const HeldFor*, Mode>> live_;
  Stamp last_write_;
  Stamp last_read_;
};

}  // namespace

void Story::read(const std::filesystem::path& path) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (in.eof()) break;  // no newline: the kill cut the line
    std::istringstream words(line);
    std::string kind, items;
    Stamp stamp;
    std::int64_t time = 0;
    std::int64_t waited = 0;
    words >> kind;
    if (kind == "E") {
      ADD_FAILURE() << path.filename() << ": " << line;
    } else if (kind == "T") {
      ++timeouts;
    } else if (kind == "U") {
      ++troubles;
    } else if (kind == "G") {
      words >> stamp.value >> time >> items >> waited;
      const bool fresh =
          holds.emplace(stamp, HeldFor{stamp, parse_items(items), time, time}).second;
      EXPECT_TRUE(fresh) << "stamp " << stamp.value << " was granted twice";
      longest_wait = std::max(longest_wait, Duration(waited));
    } else {
      words >> stamp.value >> time;
      holds.at(stamp).end = time;
    }
  }
}

Duration Story::longest_stall() const {
  std::vector<std::int64_t> begins;
  for (const auto& [stamp, hold] : holds) begins.push_back(hold.begin);
  std::sort(begins.begin(), begins.end());
  std::int64_t longest = 0;
  for (std::size_t i = 1; i < begins.size(); ++i) {
    longest = std::max(longest, begins[i] - begins[i - 1]);
  }
  return Duration(longest);
}

bool has_hammer_readers(const std::string& name) { return std::stoul(name.substr(1)) % 5 == 4; }

std::size_t check(const Story& story) {
  std::vector<const HeldFor*> by_begin;
  for (const auto& [stamp, hold] : story.holds) by_begin.push_back(&hold);
  std::sort(by_begin.begin(), by_begin.end(),
            [](const HeldFor* a, const HeldFor* b) { return a->begin < b->begin; });
  std::map<std::string, NameHistory> names;
  std::size_t conflicts = 0;
  for (const HeldFor* hold : by_begin) {
    for (const LockRequest& item : hold->items) {
      conflicts += names.try_emplace(item.name, item.name).first->second.add(*hold, item.mode);
    }
    if (testing::Test::HasFailure()) break;  // the first one is enough to read
  }
  return conflicts;
}

}  // namespace lockset::conformance
