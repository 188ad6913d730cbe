// SEM 19: a name's version counts its grants in 32 bits, and wraps around. One of its values, -1,
// means "any" to a server that compares. No test gets there by counting, so a transaction in the
// server's log makes the server believe it.
#include <cstdint>
#include <fstream>
#include <limits>
#include <sstream>

#include "tests/support/requirement.h"
#include "tests/zookeeper/fixture.h"
#include "tests/zookeeper/four_letters.h"

namespace lockset::zookeeper_tests {
namespace {

constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max();
constexpr std::int32_t least = std::numeric_limits<std::int32_t>::min();

void add_number(std::string& bytes, std::int64_t number, unsigned size) {
  while (size-- > 0) bytes += static_cast<char>(static_cast<std::uint64_t>(number) >> (8 * size));
}

void add_text(std::string& bytes, const std::string& text) {
  add_number(bytes, static_cast<std::int64_t>(text.size()), 4);
  bytes += text;
}

std::uint32_t adler32(const std::string& bytes) {
  std::uint32_t low = 1;
  std::uint32_t high = 0;
  for (const char byte : bytes) {
    low = (low + static_cast<unsigned char>(byte)) % 65521;
    high = (high + low) % 65521;
  }
  return high << 16U | low;
}

class Versions : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::have_server("zookeeper")) return;
    server_ = std::make_unique<test::PrivateServer>("zookeeper");
    init_space(url(), soon()).value();
    Client first = client("first");
    EXPECT_TRUE(first.release(first.take({write("a")}).stamp));
  }
  [[nodiscard]] std::string url() const { return server_->admin_url() + "?space=lockset"; }
  [[nodiscard]] Client client(const std::string& app) const {
    return Client(open_backend(url(), soon()).value(), app);
  }
  // No client runs meanwhile.
  void set_version_of_a(std::int32_t version) {
    const std::string said = test::four_letters(server_->port(), "srvr");
    // Leaves room for transactions before the server stops.
    const std::int64_t zxid =
        std::stoll(said.substr(said.find("Zxid: 0x") + 8), nullptr, 16) + 1000;
    const std::string path_of_a =
        RawZookeeper("127.0.0.1:" + std::to_string(server_->port())).generation("/lockset") +
        "/names/a";
    server_->stop();
    std::string transaction;
    add_number(transaction, 0, 8);  // no session
    add_number(transaction, 0, 4);
    add_number(transaction, zxid, 8);
    add_number(transaction, 1, 8);  // ms since 1970
    add_number(transaction, 5, 4);  // setData
    add_text(transaction, path_of_a);
    add_text(transaction, "");
    add_number(transaction, version, 4);
    std::string log = "ZKLG";
    add_number(log, 2, 4);
    add_number(log, 0, 8);
    add_number(log, adler32(transaction), 8);
    add_text(log, transaction);
    log += 'B';
    std::ostringstream name;
    name << "log." << std::hex << zxid;
    std::ofstream(server_->folder() / "data/1/version-2" / name.str(), std::ios::binary) << log;
    server_->start();
    ASSERT_EQ(version_of_a(), version) << "nothing is tested";
  }
  [[nodiscard]] std::int32_t version_of_a() const {
    RawZookeeper raw("127.0.0.1:" + std::to_string(server_->port()));
    return raw.get(raw.generation("/lockset") + "/names/a").value().version;
  }

 private:
  std::unique_ptr<test::PrivateServer> server_;
};

// A client that knows the name from then would succeed, whatever has happened since.
TEST_F(Versions, TheOneThatMeansAnyIsNeverComparedWith) {
  set_version_of_a(-2);
  Client early = client("early");
  EXPECT_TRUE(early.release(early.take({write("a")}).stamp));
  ASSERT_EQ(version_of_a(), -1) << "nothing is tested";
  Client late = client("late");
  const Stamp stamp = late.take({write("a")}).stamp;
  EXPECT_GE(version_of_a(), 1) << "it compared with any version";
  EXPECT_EQ(early.meet_busy({write("a")}).holder, stamp);
  EXPECT_TRUE(late.release(stamp));
  EXPECT_TRUE(early.release(early.take({write("a")}).stamp));
}

TEST_F(Versions, GoRound) {
  set_version_of_a(most);
  Client early = client("early");
  Client late = client("late");
  EXPECT_TRUE(early.release(early.take({write("a")}).stamp));
  EXPECT_EQ(version_of_a(), least);
  const Stamp stamp = late.take({write("a")}).stamp;
  EXPECT_EQ(early.meet_busy({write("a")}).holder, stamp);
  EXPECT_TRUE(late.release(stamp));
  EXPECT_TRUE(early.release(early.take({write("a")}).stamp));
  EXPECT_EQ(version_of_a(), least + 2);
}

}  // namespace
}  // namespace lockset::zookeeper_tests
