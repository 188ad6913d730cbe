// SEM 2: names are equal if their bytes are equal.
#include <algorithm>
#include <map>

#include "tests/conformance/suite.h"
#include "tests/support/effort.h"

namespace lockset::conformance {
namespace {

std::string utf8(char32_t c) {
  const auto byte = [](char32_t value) {
    return static_cast<char>(static_cast<unsigned char>(value));
  };
  if (c < 0x80) return {byte(c)};
  if (c < 0x800) return {byte(0xC0 | (c >> 6)), byte(0x80 | (c & 0x3F))};
  if (c < 0x10000) {
    return {byte(0xE0 | (c >> 12)), byte(0x80 | ((c >> 6) & 0x3F)), byte(0x80 | (c & 0x3F))};
  }
  return {byte(0xF0 | (c >> 18)), byte(0x80 | ((c >> 12) & 0x3F)), byte(0x80 | ((c >> 6) & 0x3F)),
          byte(0x80 | (c & 0x3F))};
}

// Names that some store might confuse with each other or with its own syntax.
std::vector<std::string> awkward_names() {
  std::vector<std::string> names;
  // Case, in ASCII and beyond.
  for (const char* name :
       {"job", "Job", "JOB", "straße", "strasse", "STRASSE", "ß", "ss", "ẞ", "İ", "i",
        "I",   "ı",   "Ω",   "Ω",      "ω",       "K",       "K", "k",  "Å", "Å", "å"}) {
    names.emplace_back(name);
  }
  // Blanks of several kinds before and after a name, and names of blanks only.
  for (const char* blank : {" ", "  ", "\u00A0", "\u2003", "\u3000", "\u200B", "\u2060"}) {
    names.push_back(blank);
    names.push_back(std::string("job") + blank);
    names.push_back(blank + std::string("job"));
  }
  // Normalisation forms: é as one and as two code points, also at the end of a name.
  for (const char* name : {"caf\u00E9", "cafe\u0301", "cafe", "\uFB01", "fi", "\u1E9B\u0323",
                           "\u1E69", "s\u0323\u0307", "\uAC00", "\u1100\u1161"}) {
    names.emplace_back(name);
  }
  // The first and last code point of each length, around the surrogates and the
  // forbidden controls, and noncharacters.
  for (const char32_t c : {U'\x20', U'\x7E', U'\xA0', U'\u07FF', U'\u0800', U'\uD7FF', U'\uE000',
                           U'\uFDD0', U'\uFEFF', U'\uFFFD', U'\uFFFE', U'\uFFFF', U'\U00010000',
                           U'\U0001F512', U'\U0001FFFF', U'\U0010FFFE', U'\U0010FFFF'}) {
    names.push_back("x" + utf8(c));
    names.push_back(utf8(c) + "x");
  }
  // Every printable ASCII character alone, and in the middle.
  for (char c = '!'; c <= '~'; ++c) {
    if (c != '@' && c != '*') names.push_back(std::string(1, c));
    names.push_back(std::string("p") + c + "q");
  }
  // Right-to-left marks and overrides, joiners, an emoji of several code points.
  for (const char* name : {"\u200Fa", "a\u200F", "\u202Ea", "a\u202E", "\u2066a\u2069", "a\u200Db",
                           "\U0001F468\u200D\U0001F469\u200D\U0001F467", "\U0001F468",
                           "\u0645\u0631\u062D\u0628\u0627", "\u65E5\u672C"}) {
    names.emplace_back(name);
  }
  // Syntax of the stores: SQL, Redis, paths, patterns, escapes, numbers.
  for (const char* name : {"''",      "'; DROP TABLE holds; --",
                           "a%",      "a_",
                           "\\%",     "\\",
                           "\\\\",    "%s%n",
                           "a/b",     "/",
                           "//",      ".",
                           "..",      "../a",
                           "a\\b",    "{a}",
                           "{",       "}",
                           "a:b",     "a b",
                           "NULL",    "null",
                           "0",       "00",
                           "0.0",     "0x0",
                           "1e3",     "-1",
                           "nan",     "zookeeper",
                           "a?b=c&d", "%41",
                           "A",       "&amp;",
                           "\\u0041", "\\x41",
                           "**"}) {
    names.emplace_back(name);
  }
  // Prefixes of each other, and the longest.
  names.push_back(std::string(255, 'n'));
  names.push_back(std::string(254, 'n'));
  names.push_back(std::string(254, 'n') + "m");
  names.push_back(std::string(254, 'n') + " ");
  std::string long_utf8;
  while (long_utf8.size() < 252) long_utf8 += "\U0001F512";
  names.push_back(long_utf8 + "abc");
  names.push_back(long_utf8 + "abd");
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

class Names : public Conformance {};

// SEM 2: all of them are different names
TEST_P(Names, AllAwkwardNamesAreDifferent) {
  Client c = client();
  const std::vector<std::string> names = awkward_names();
  for (const std::string& name : names) {
    const Result<AcquireOutcome> outcome = c.ask({write(name)});
    ASSERT_TRUE(outcome && std::holds_alternative<Grant>(*outcome))
        << in_quotes(name) << ": " << test::describe(outcome);
  }
  EXPECT_EQ(c.holds().size(), names.size());
}

// SEM 2: each name is equal to itself: it excludes itself, and look and inspection show it
TEST_P(Names, EachIsEqualToItself) {
  // Some held at once: a look at a whole space is slow where every name was used before.
  constexpr std::size_t at_once = 20;
  Client c = client();
  const std::vector<std::string> names = awkward_names();
  for (std::size_t first = 0; first < names.size(); first += at_once) {
    std::map<Stamp, std::string> held;
    for (std::size_t i = first; i < std::min(first + at_once, names.size()); ++i) {
      const std::string& name = names[i];
      SCOPED_TRACE(in_quotes(name));
      held.emplace(c.take({write(name)}).stamp, name);
      c.meet_busy({write(name)});
      // Where a look asks all clients, some names have to do.
      if (traits().session_leases && i % 8 != 0 && !test::thorough()) continue;
      const std::vector<HoldInfo> shown = c.inspect({InspectQuery::Match::name, name}).holds;
      ASSERT_EQ(shown.size(), 1U);
      EXPECT_EQ(shown[0].items, Wanted{write(name)});
    }
    const std::vector<RawHold> raw = space().look();
    EXPECT_EQ(raw.size(), held.size());
    for (const RawHold& hold : raw) EXPECT_EQ(hold.items, Wanted{write(held.at(hold.stamp))});
    for (const auto& [stamp, name] : held) ASSERT_TRUE(c.release(stamp)) << in_quotes(name);
  }
}

// SEM 2, 3: all of them together in one set
TEST_P(Names, SideBySideInOneSet) {
  std::vector<std::string> names = awkward_names();
  names.resize(std::min<std::size_t>(names.size(), 256));
  Wanted wanted;
  for (const std::string& name : names) wanted.push_back(write(name));
  Client c = client();
  const Grant grant = c.take(wanted);
  EXPECT_EQ(c.holds().at(0).items, wanted);
  ASSERT_TRUE(c.release(grant.stamp));
}

// SEM 2, 4: what a collation would call equal, in one set, and one of them held
TEST_P(Names, OfASetAreToldApart) {
  const std::vector<std::string> names{"a", "A", "a ", "\u00e1", "ss", "\u00df"};
  Wanted all;
  for (const std::string& name : names) all.push_back(write(name));
  Client holder = client();
  Client other(open(), "other");
  for (const std::string& held : names) {
    SCOPED_TRACE(in_quotes(held));
    const Grant grant = holder.take({write(held)});
    EXPECT_EQ(other.meet_busy(all).name, held);
    ASSERT_TRUE(holder.release(grant.stamp));
  }
}

// SEM 2: case
TEST_P(Names, CaseCounts) {
  Client c = client();
  c.take({write("Backup"), write("backup"), write("BACKUP")});
  c.meet_busy({write("backup")});
  EXPECT_TRUE(c.take({write("bACKUP")}).stamp);
}

// SEM 2: trailing blanks
TEST_P(Names, TrailingBlanksCount) {
  Client c = client();
  c.take({write("a")});
  c.take({write("a ")});
  c.take({write("a  ")});
  c.meet_busy({write("a ")});
  EXPECT_EQ(c.inspect({InspectQuery::Match::name, "a "}).holds.size(), 1U);
}

// SEM 2: normalisation forms
TEST_P(Names, NormalisationFormsAreDifferent) {
  Client c = client();
  c.take({write("caf\u00E9")});
  EXPECT_TRUE(c.take({write("cafe\u0301")}).stamp);
}

// SEM 2: up to 255 bytes, and all of them count
TEST_P(Names, All255BytesCount) {
  Client c = client();
  const std::string prefix(254, 'x');
  c.take({write(prefix + "a")});
  c.take({write(prefix + "b")});
  c.take({write(prefix)});
  c.meet_busy({write(prefix + "a")});
}

// SEM 2, 6: permits are by the bytes of the name, too
TEST_P(Names, PermitsAreByTheBytesToo) {
  if (skip_unless(traits().counted_permits, "counted permits")) return;
  Client c = client();
  for (const std::string name : {"job", "a%", "\U0001F512", "a'b", "a "}) {
    SCOPED_TRACE(in_quotes(name));
    c.set_permits(name, Mode::write, 2);
    c.take({write(name)});
    EXPECT_TRUE(c.take({write(name)}).stamp);
    c.meet_busy({write(name)});
  }
  Client other(open());
  EXPECT_EQ(other.config().permits.size(), 5U);
  EXPECT_EQ(other.config().permits_of("Job"), (Permits{1, 1}));
  EXPECT_EQ(other.config().permits_of("a"), (Permits{1, 1}));
}

// SEM 12: application ids and labels are stored unchanged
TEST_P(Names, ApplicationIdsAndLabelsTravelUnharmed) {
  for (const std::string text : {"caf\u00E9 'x' \"y\" %s \\ \U0001F512", "a ", "{a}:b/c", "1"}) {
    SCOPED_TRACE(in_quotes(text));
    Client c = client(text);
    c.set_label(text);
    const Grant grant = c.take({write("a")});
    EXPECT_EQ(c.holds().at(0).owner.app, text);
    EXPECT_EQ(c.holds().at(0).owner.label, text);
    EXPECT_EQ(space().look().at(0).app, text);
    EXPECT_TRUE(c.release(grant.stamp));
  }
}

LOCKSET_CONFORMANCE_SUITE(Names);

}  // namespace
}  // namespace lockset::conformance
