#include "backends/parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "lockset/registry.h"

namespace lockset::addresses {
namespace {

using namespace std::chrono_literals;

std::string says(const Status& status) {
  return status ? "" : std::string(to_string(status.error().code)) + ": " + status.error().message;
}

TEST(Parameters, Table) {
  std::string first;
  std::string second;
  const Parameters known{{"first", text(first)}, {"second", text(second)}};
  const auto read = [](const char* address, const Parameters& table) {
    return says(read_parameters(Url::parse(address).value(), table));
  };
  EXPECT_EQ(read("x:?second=2&first=1", known), "");
  EXPECT_EQ(first + second, "12");
  EXPECT_EQ(read("x:?frist=1", known),
            "invalid: unknown parameter \"frist\" in a x: address; known are first, second");
  EXPECT_EQ(read("x:?first=3&frist=1", {{"second", text(second)}}),
            "invalid: unknown parameter \"first\" in a x: address; known is second");
  EXPECT_EQ(read("x:?first=a%00b", known), "invalid: the parameter first holds a zero byte");
  EXPECT_EQ(first, "1");
}

TEST(Parameters, Space) {
  std::string space = "before";
  const Reader read = space_name(space);
  for (const char* const bad :
       {"", "A", "a-b", "a b", "a/b", "ä", "123456789012345678901234567890123"}) {
    EXPECT_TRUE(says(read("space", bad)).starts_with("invalid: space must be")) << bad;
    EXPECT_EQ(space, "before");
  }
  EXPECT_EQ(says(read("space", "12345678901234567890123456789_ab")), "");
  EXPECT_EQ(space, "12345678901234567890123456789_ab");
}

TEST(Parameters, NumbersDurationsAndWords) {
  std::size_t pool = 5;
  for (const char* const bad : {"0", "1001", "-1", "1.5", "many", ""}) {
    EXPECT_TRUE(says(pool_size(pool)("pool", bad)).starts_with("invalid: pool must be 1 to 1000"))
        << bad;
    EXPECT_EQ(pool, 5U);
  }
  EXPECT_EQ(says(pool_size(pool)("pool", "1000")), "");
  EXPECT_EQ(pool, 1000U);

  Duration timeout = 5s;
  const Reader read_timeout = connect_timeout(timeout);
  for (const char* const bad : {"99ms", "61m", "tomorrow", "", "-5s"}) {
    EXPECT_EQ(says(read_timeout("connect_timeout", bad)),
              std::string("invalid: connect_timeout must be 100ms to 1h, not \"") + bad + "\"");
  }
  EXPECT_EQ(timeout, 5s);
  EXPECT_EQ(says(read_timeout("connect_timeout", "100ms")), "");
  EXPECT_EQ(timeout, 100ms);

  bool option = false;
  EXPECT_EQ(says(on_or_off(option)("listen", "yes")), "invalid: listen is on or off, not \"yes\"");
  EXPECT_EQ(says(on_or_off(option)("listen", "on")), "");
  EXPECT_TRUE(option);

  int number = 0;
  const Reader read_number = one_of(number, {{"one", 1}, {"two", 2}, {"three", 3}});
  EXPECT_EQ(says(read_number("number", "four")),
            "invalid: number is one, two or three, not \"four\"");
  EXPECT_EQ(says(read_number("number", "three")), "");
  EXPECT_EQ(number, 3);
}

TEST(Parameters, PasswordFile) {
  const std::filesystem::path path =
      std::filesystem::path(testing::TempDir()) / ("password." + std::to_string(::getpid()));
  std::ofstream(path) << "first line\r\nsecond\n";
  std::string password;
  const Reader read = password_file(password);
  EXPECT_EQ(says(read("password_file", path.string())), "");
  EXPECT_EQ(password, "first line");
  std::filesystem::remove(path);
  EXPECT_TRUE(says(read("password_file", path.string()))
                  .starts_with("misconfigured: the password_file \""));
  EXPECT_EQ(password, "first line");
}

// "redis+sentinel" has the page of "redis".
std::string page_of(std::string_view scheme) {
  std::ifstream file(std::filesystem::path(LOCKSET_DOCS) / "backends" /
                     (std::string(scheme.substr(0, scheme.find('+'))) + ".md"));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The error for a parameter that no store has: it lists the names in the store's table.
std::vector<std::string> known_to(const Scheme& scheme) {
  const std::string example(scheme.example);
  const std::string address =
      example + (example.find('?') == std::string::npos ? "?" : "&") + "no_such_parameter=1";
  const auto opened = open_backend(address, BootClock::now());
  std::vector<std::string> names;
  if (opened) return names;
  const std::string message = opened.error().message;
  std::size_t at = message.find("; known ");
  if (at == std::string::npos) return names;
  std::istringstream list(message.substr(message.find(' ', at + 8)));
  for (std::string name; std::getline(list, name, ',');) names.push_back(name.substr(1));
  return names;
}

void add_quoted(std::vector<std::string>& names, const std::string& text) {
  for (std::size_t at = 0; (at = text.find('`', at)) != std::string::npos;) {
    const std::size_t end = text.find('`', at + 1);
    names.push_back(text.substr(at + 1, end - at - 1));
    at = end + 1;
  }
}

// The first column of the page's table of parameters, and its list of parameters that are passed
// on.
std::vector<std::string> described_by(const std::string& page) {
  enum { before, table, list } where = before;
  std::vector<std::string> names;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("| parameter |")) {
      where = table;
    } else if (line.ends_with(" passed on:")) {
      where = list;
    } else if (where == table && line.starts_with('|')) {
      add_quoted(names, line.substr(0, line.find('|', 1)));
    } else if (where == list && (line.starts_with("- ") || line.starts_with("  "))) {
      add_quoted(names, line);
    } else if (!line.empty() || where == table) {
      where = before;
    }
  }
  return names;
}

TEST(Parameters, EveryPageNamesThoseOfItsStore) {
  for (const Scheme& scheme : builtin_schemes()) {
    if (scheme.name == "migrate") continue;  // it has the addresses of two stores, and no page
    const std::string page = page_of(scheme.name);
    ASSERT_NE(page, "") << scheme.name;
    const std::vector<std::string> known = known_to(scheme);
    // The nodes of a quorum have their own in their addresses.
    EXPECT_EQ(known.empty(), scheme.name == "memory" || scheme.name == "quorum") << scheme.name;
    EXPECT_THAT(described_by(page), testing::UnorderedElementsAreArray(known)) << scheme.name;
  }
}

}  // namespace
}  // namespace lockset::addresses
