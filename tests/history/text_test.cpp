#include "history/text.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <utility>

#include "history/fields.h"
#include "tests/support/seed.h"

namespace lockset::history {
namespace {

// Values of every kind, with many odd ones.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  void roll(std::uint64_t& value) { value = below(4) == 0 ? random_() : below(1000); }
  void roll(std::uint32_t& value) { value = static_cast<std::uint32_t>(random_()); }
  void roll(bool& value) { value = below(2) == 0; }
  void roll(Stamp& value) {
    value.value = static_cast<std::int64_t>(below(4) == 0 ? random_() : below(1000));
  }
  void roll(Duration& value) {
    value = below(5) == 0 ? Duration::max() : Duration(random_() >> (1 + below(60)));
  }
  void roll(TimePoint& value) {
    Duration since{};
    roll(since);
    value = TimePoint(since);
  }
  void roll(std::string& value) {
    value.clear();
    for (std::uint64_t i = below(12); i > 0; --i) value += static_cast<char>(below(256));
  }
  void roll(Wish& value) {
    roll(value.name);
    value.mode = below(2) == 0 ? Mode::read : Mode::write;
    value.permits = static_cast<std::uint32_t>(below(3));
  }
  void roll(Saw& value) {
    roll(value.name);
    roll(value.last_write);
    roll(value.being_written);
  }
  template <class T>
  void roll(std::vector<T>& list) {
    list.resize(below(4));
    for (T& each : list) roll(each);
  }
  Event event() {
    Event event;
    roll(event.time);
    choose(event.what, below(std::variant_size_v<What>),
           std::make_index_sequence<std::variant_size_v<What>>());
    std::visit(
        [&](auto& what) { for_fields(what, [&](std::string_view, auto& field) { roll(field); }); },
        event.what);
    return event;
  }

 private:
  template <std::size_t... index>
  static void choose(What& what, std::size_t which, std::index_sequence<index...>) {
    ((which == index ? void(what = std::variant_alternative_t<index, What>()) : void()), ...);
  }
  std::mt19937_64 random_;
};

TEST(HistoryText, ParseIsTheInverseOfPrint) {
  const std::uint64_t seed = test::test_seed();
  SCOPED_TRACE(test::describe_seed(seed));
  Dice dice(seed);
  std::set<std::size_t> kinds;
  for (int i = 0; i < 20000; ++i) {
    const Event event = dice.event();
    kinds.insert(event.what.index());
    const std::string line = print(event);
    ASSERT_EQ(line.find('\n'), line.size() - 1);
    const Result<Event> again = parse(std::string_view(line).substr(0, line.size() - 1));
    ASSERT_TRUE(again.ok()) << line << again.error().message;
    ASSERT_EQ(*again, event) << line;
    ASSERT_EQ(print(*again), line);
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<What>);
}

// Every line that is read would be written in the same way: no two lines mean the same.
TEST(HistoryText, ADamagedLineIsRefusedOrMeansSomethingElse) {
  const std::uint64_t seed = test::test_seed();
  SCOPED_TRACE(test::describe_seed(seed));
  Dice dice(seed);
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string whole = print(dice.event());
    std::string line = whole.substr(0, whole.size() - 1);
    line[dice.below(line.size())] = static_cast<char>(dice.below(256));
    const Result<Event> read = parse(line);
    if (read) {
      ASSERT_EQ(print(*read), line + "\n");
    }
    refused += read ? 0 : 1;
  }
  EXPECT_GT(refused, 5000);
}

TEST(HistoryText, IsForPeopleToo) {
  const Event ask{
      TimePoint(Duration(17)),
      Ask{3, {{"ws 2/x", Mode::write, 1}, {"a", Mode::read, 0}}, Duration(5), Duration::max()}};
  EXPECT_EQ(print(ask), "17 ask op=3 set=w:ws%202%2Fx/1,r:a lease=5 wait=forever\n");
  const Event granted{TimePoint(Duration(18)), Granted{3, Stamp{9}, TimePoint(Duration(40)), {}}};
  EXPECT_EQ(print(granted), "18 granted op=3 stamp=9 until=40 floors=\n");
  EXPECT_EQ(print({TimePoint(Duration(19)), SeenEnd{}}), "19 seen_end\n");
}

std::string complaint(std::string_view line) {
  const Result<Event> event = parse(line);
  return event ? "" : event.error().message;
}

TEST(HistoryText, SaysWhatIsWrongWithALine) {
  EXPECT_EQ(complaint("1 renew stamp=5"), "");
  EXPECT_EQ(complaint("x renew stamp=5"), "expected a time, not \"x\"");
  EXPECT_EQ(complaint("-1 renew stamp=5"), "expected a time, not \"-1\"");
  EXPECT_EQ(complaint("1 renwe stamp=5"), "expected a kind of event, not \"renwe\"");
  EXPECT_EQ(complaint("1 renew stamp=05"), "expected stamp=..., not \"stamp=05\"");
  EXPECT_EQ(complaint("1 renew stamp=99999999999999999999"),
            "expected stamp=..., not \"stamp=99999999999999999999\"");
  EXPECT_EQ(complaint("1 renew"), "expected stamp=..., not \"\"");
  EXPECT_EQ(complaint("1 renew stamp=5 x"), "expected the end of the line, not \"x\"");
  EXPECT_NE(complaint("1 renew stamp=5 "), "");
  EXPECT_NE(complaint("1  renew stamp=5"), "");
  EXPECT_NE(complaint("1 kill process=a%2"), "");
  EXPECT_NE(complaint("1 kill process=a%61"), "") << "a stands for itself";
  EXPECT_NE(complaint("1 kill process=a%2f"), "") << "digits are upper-case";
  EXPECT_NE(complaint(""), "");
}

TEST(HistoryText, ACutLastLineDoesNotCount) {
  const std::string whole = print_header("p 1") + print({TimePoint(Duration(1)), Lost{Stamp{5}}}) +
                            print({TimePoint(Duration(2)), Lost{Stamp{67}}});
  const std::size_t second = whole.find("\n2") + 1;
  const std::size_t header = whole.find('\n') + 1;
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    const Result<Log> log = parse_log(whole.substr(0, size), "file");
    ASSERT_TRUE(log.ok()) << size << log.error().message;
    EXPECT_EQ(log->process, size < header ? "" : "p 1");
    EXPECT_EQ(log->events.size(), size == whole.size() ? 2U : size >= second ? 1U : 0U) << size;
  }
}

TEST(HistoryText, AnUnreadableLineIsNamed) {
  const auto why = [](const std::string& text) {
    const Result<Log> log = parse_log(text, "dir/a.log");
    return log ? "" : log.error().message;
  };
  EXPECT_EQ(why("lockset-history 1 p\n1 lost stamp=5\n2 lsot stamp=5\n3 lost stamp=5\n"),
            "bad line 3 of the history dir/a.log: expected a kind of event, not \"lsot\"");
  EXPECT_EQ(why("lockset-history 2 p\n"),
            "bad line 1 of the history dir/a.log: expected lockset-history 1 PROCESS, not "
            "\"lockset-history 2 p\"");
  EXPECT_NE(why("lockset-history 1 \n"), "");
  EXPECT_NE(why("another file"), "");
  EXPECT_NE(why("lockset-history 1 p\n\n"), "");
}

}  // namespace
}  // namespace lockset::history
