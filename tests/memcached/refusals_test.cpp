// Servers and addresses that don't fit: one line that says what to do.
#include <fstream>

#include "tests/memcached/fixture.h"

namespace lockset::memcached_tests {
namespace {

class Refusals : public MemcachedTest {
 protected:
  static std::string refused(const std::string& url, Errc code) {
    const auto opened = open_backend(url, soon());
    if (opened) {
      ADD_FAILURE() << "it was opened";
      return {};
    }
    EXPECT_EQ(opened.error().code, code) << opened.error().message;
    EXPECT_EQ(opened.error().message.find('\n'), std::string::npos);
    return opened.error().message;
  }
  static void expect(const std::string& message, const std::string& part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
};

TEST_F(Refusals, AddressesThatMeanNothing) {
  expect(refused("memcached://user:geheim@host/", Errc::invalid), "SASL");
  expect(refused("memcached://h1,h2/space", Errc::invalid), "one server");
  expect(refused("memcached://host/a/b", Errc::invalid), "space");
  expect(refused("memcached:host", Errc::invalid), "//HOST:PORT/SPACE");
  expect(refused("memcached://host/space?nonsense=1", Errc::invalid), "first");
}

TEST_F(Refusals, ServersThatAreNotThere) {
  if (!start()) return;
  const std::uint16_t port = server().port();
  server().stop();
  expect(refused("memcached://127.0.0.1:" + std::to_string(port), Errc::unavailable),
         "connection failed");
  expect(refused("memcached://nowhere.invalid", Errc::unavailable), "has no address");
}

TEST_F(Refusals, AServerWithoutCas) {
  if (!start({"-C"})) return;
  expect(refused(url(), Errc::misconfigured), "-C");
  EXPECT_EQ(init_space(url(), soon()).error().code, Errc::misconfigured);
}

TEST_F(Refusals, AServerThatWantsAPassword) {
  if (!start()) return;
  const std::string file = (server().folder() / "data" / "users").string();
  std::ofstream(file) << "user:password\n";
  test::PrivateServer other("memcached", {"-Y", file});
  expect(refused(other.admin_url(), Errc::unavailable), "login");
}

// There is room for a few of the largest sets with the longest names.
TEST_F(Refusals, ASpaceThatIsFull) {
  if (!start_with_space()) return;
  Client c = client();
  std::vector<Stamp> stamps;
  Result<AcquireOutcome> outcome = AcquireOutcome(Stale{});
  for (int i = 0; i < 100; ++i) {
    test::Wanted wanted;
    for (int k = 0; k < 256; ++k) {
      const std::string name = std::to_string(i) + "-" + std::to_string(k);
      wanted.push_back(write(name + std::string(255 - name.size(), 'x')));
    }
    outcome = c.ask(wanted, {.lease = 30s});
    if (!outcome) break;
    stamps.push_back(std::get<Grant>(*outcome).stamp);
  }
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, Errc::unavailable);
  expect(outcome.error().message, "item_size_max");
  EXPECT_GE(stamps.size(), 2U);
  for (const Stamp stamp : stamps) EXPECT_TRUE(c.renew(stamp, 30s)) << "there is room for these";
  for (const Stamp stamp : stamps) EXPECT_TRUE(c.release(stamp));
  EXPECT_TRUE(c.try_take({write("again")}, {.lease = 1s}));
}

TEST_F(Refusals, AServerWithoutMemory) {
  if (!start_with_space({"-m", "2", "-M"})) return;
  test::RawMemcached raw = this->raw();
  for (std::size_t size = 50; size < 20'000; size += size / 8) {
    for (int i = 0; i < 100'000; ++i) {
      const std::string key = "other:" + std::to_string(size) + ":" + std::to_string(i);
      if (raw.store("set", key, std::string(size, 'x')) != "STORED") break;
    }
  }
  Client c = client();
  Result<AcquireOutcome> outcome = AcquireOutcome(Stale{});
  for (int i = 0; i < 200 && outcome; ++i) {
    outcome = c.ask({write("n" + std::to_string(i))}, {.lease = 4s});
  }
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, Errc::unavailable);
  expect(outcome.error().message, "no memory left");
}

TEST_F(Refusals, DoctorNamesWhatWeakensTheServer) {
  if (!start_with_space()) return;
  EXPECT_TRUE(test::finding(url(), "evictions").starts_with("warning"));
  EXPECT_TRUE(test::finding(url(), "flush_all").starts_with("warning"));
  EXPECT_TRUE(test::finding(url(), "durability").starts_with("warning"));
  EXPECT_EQ(test::finding(url(), "quarantine"), "");
  test::PrivateServer strict("memcached", {"-M", "-F"});
  init_space(strict.admin_url(), soon()).value();
  EXPECT_TRUE(test::finding(strict.admin_url(), "evictions").starts_with("ok") ||
              test::finding(strict.admin_url(), "evictions").starts_with("good"));
  EXPECT_TRUE(test::finding(strict.admin_url(), "quarantine").starts_with("warning"));
}

}  // namespace
}  // namespace lockset::memcached_tests
