// SEM 2, 3: odd names, large sets, and more paths than one session should have.
#include <map>
#include <set>

#include "backends/zookeeper/paths.h"
#include "tests/zookeeper/fixture.h"

namespace lockset::zookeeper_tests {
namespace {

// Twelve bytes as a part of a path.
const std::string lock_sign = "\xF0\x9F\x94\x92";

class Names : public ZookeeperTest {
 protected:
  // Names of 255 bytes each, in order.
  static Wanted long_names(std::size_t count, const std::string& prefix,
                           const std::string& filling) {
    Wanted wanted;
    for (std::size_t i = 0; i < count; ++i) {
      std::string name = prefix + std::to_string(1000 + i);
      while (name.size() + filling.size() <= 255) name += filling;
      name.resize(255, 'x');
      wanted.push_back(i % 2 == 0 ? write(name) : read(name));
    }
    return test::sorted(wanted);
  }
};

const std::vector<std::string>& odd_names() {
  static const std::vector<std::string> names{".",
                                              "..",
                                              "...",
                                              "a/b",
                                              "/",
                                              "//",
                                              "/a",
                                              "a/",
                                              "%",
                                              "%2F",
                                              "a%",
                                              "%00",
                                              " ",
                                              "a ",
                                              " a",
                                              "A",
                                              "a",
                                              "\xC3\xA4",
                                              "a\xCC\x88",
                                              "\xEF\xBF\xBF",
                                              "\xF0\x9F\x94\x92",
                                              "zookeeper",
                                              "config",
                                              "w-00000000000000000000000000000000",
                                              ".x",
                                              "~",
                                              "\"",
                                              "\\",
                                              "*x"};
  return names;
}

// Each is a separate node, and is read back unchanged.
TEST_F(Names, OddOnesAreNamesOfTheirOwn) {
  Client mine = client();
  Wanted wanted;
  for (const std::string& name : odd_names()) wanted.push_back(write(name));
  wanted = test::sorted(wanted);
  const Stamp stamp = mine.take(wanted).stamp;
  EXPECT_EQ(raw().children(root() + "/names").size(), wanted.size());
  EXPECT_EQ(view().traces().size(), wanted.size() + 1);
  const std::vector<HoldInfo> holds = mine.holds();
  ASSERT_EQ(holds.size(), 1U);
  EXPECT_EQ(test::sorted(holds.front().items), wanted);
  for (const std::string& name : odd_names()) {
    EXPECT_EQ(mine.meet_busy({read(name)}).holder, stamp) << name;
  }
  EXPECT_TRUE(mine.release(stamp));
  EXPECT_TRUE(view().traces().empty());
}

TEST_F(Names, EscapesRoundTrip) {
  for (int first = 1; first < 256; ++first) {
    for (const std::string& rest : {std::string(), std::string("."), std::string("/%\x80\xFF")}) {
      const std::string text = std::string(1, static_cast<char>(first)) + rest;
      const std::string part = zookeeper::escaped(text);
      EXPECT_EQ(zookeeper::unescaped(part), text) << part;
      EXPECT_TRUE(zookeeper::is_valid_path("/" + part)) << part;
      EXPECT_EQ(part.find('/'), std::string::npos) << part;
    }
  }
  for (const char* const never : {"%", "%2", "%2f", "%41", ".", "a/b", "%ZZ", "\x80"}) {
    EXPECT_FALSE(zookeeper::unescaped(never)) << never;
  }
}

// SEM 3, 5: the largest possible set. Its multi stays below what a server reads (1 MB), and the
// server reads it again after a restart.
TEST_F(Names, TheLargestSetIsTakenWhole) {
  Client mine = client();
  const Wanted wanted = long_names(256, "n", "x");
  const Stamp stamp = mine.take(wanted).stamp;
  EXPECT_EQ(view().traces().size(), 257U);
  EXPECT_EQ(mine.meet_busy({wanted.back()}).holder, stamp);
  server().kill();
  server().start();
  EXPECT_TRUE(eventually([&] {
    const RenewRequest request{stamp, 1min};
    const auto reply = mine.backend().renew(mine.owner(), {&request, 1}, soon());
    return reply && reply->renewals.at(0);
  }));
  EXPECT_TRUE(mine.release(stamp));
  EXPECT_TRUE(view().traces().empty());
}

// A still larger one, because its bytes are written as %XX, is granted as a whole or refused by a
// line that states the size.
TEST_F(Names, WhatIsTooLargeIsRefusedWhole) {
  Client mine = client();
  const Wanted wanted = long_names(256, "n", lock_sign);
  const auto outcome = mine.ask(wanted);
  if (outcome) {
    const Stamp stamp = std::get<Grant>(*outcome).stamp;
    EXPECT_EQ(view().traces().size(), 257U);
    EXPECT_TRUE(mine.release(stamp));
  } else {
    const std::string message = checked(outcome.error(), Errc::invalid);
    EXPECT_TRUE(says(message, "bytes")) << message;
    EXPECT_TRUE(says(message, "fewer")) << message;
  }
  EXPECT_TRUE(view().traces().empty());
  const Stamp stamp = mine.take(long_names(64, "m", lock_sign)).stamp;
  EXPECT_EQ(view().traces().size(), 65U);
  EXPECT_TRUE(mine.release(stamp));
}

// ADR 0024: a session's end is one transaction with the paths of all its nodes
TEST_F(Names, MorePathsThanOneSessionShouldHaveAreInAnother) {
  constexpr std::size_t sets = 6;
  constexpr std::size_t size = 128;
  Client mine = client();
  std::vector<RenewRequest> requests;
  for (std::size_t i = 0; i < sets; ++i) {
    const Grant grant = mine.take(long_names(size, "s" + std::to_string(i) + "-", lock_sign));
    requests.push_back({grant.stamp, 1min});
  }
  std::map<std::int64_t, std::size_t> bytes;   // by session
  std::map<std::string, std::int64_t> owners;  // by token
  for (const std::string& token : raw().children(root() + "/holds")) {
    owners[token] = raw().get(root() + "/holds/" + token).value().owner;
  }
  for (const std::string& trace : view().traces()) {
    bytes[owners.at(trace.substr(trace.size() - 32))] += root().size() + 1 + trace.size();
  }
  EXPECT_GE(bytes.size(), 2U);
  EXPECT_LE(bytes.size(), 3U);
  for (const auto& [session, sum] : bytes) EXPECT_LE(sum, 512U * 1024U) << session;
  const RenewReply reply = mine.backend().renew(mine.owner(), requests, soon()).value();
  for (const auto& renewal : reply.renewals) EXPECT_TRUE(renewal);
  for (const RenewRequest& request : requests) EXPECT_TRUE(mine.release(request.hold.stamp));
  EXPECT_TRUE(raw().children(root() + "/holds").empty());
  // There is room again: no additional session is opened for the next requests.
  const std::set<std::int64_t> before = [&] {
    std::set<std::int64_t> ids;
    for (const auto& [session, sum] : bytes) ids.insert(session);
    return ids;
  }();
  mine.take(long_names(size, "t", lock_sign));
  EXPECT_TRUE(before.contains(*view().owners().begin()));
}

}  // namespace
}  // namespace lockset::zookeeper_tests
