// MariaDB and MySQL with settings that make them forget, killed: what a store loses that tolerates
// the settings, and that Lockset refuses them, even if they change while clients work.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <utility>

#include "lockset/lockset.h"
#include "tests/mutants/crash.h"
#include "tests/mutants/mysql_store.h"
#include "tests/mysql/raw_client.h"
#include "tests/support/client.h"
#include "tests/support/private_server.h"
#include "tests/support/requirement.h"
#include "tests/support/wait.h"

namespace lockset::mutants {
namespace {

using test::soon;

class MysqlCrash : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!test::have_server(GetParam())) return;
    static std::map<std::string, std::unique_ptr<test::PrivateServer>> servers;
    std::unique_ptr<test::PrivateServer>& server = servers[GetParam()];
    if (!server) server = std::make_unique<test::PrivateServer>(GetParam());
    server_ = server.get();
  }
  [[nodiscard]] std::string url() const { return server_->admin_url(); }
  void set(const std::string& variable, int value) {
    test::RawMysql(url()).rows("SET GLOBAL " + variable + " = " + std::to_string(value));
  }
  // What is not written at once is written late, so that a kill certainly comes before.
  void forget() {
    set("innodb_flush_log_at_timeout", 2700);
    set("innodb_flush_log_at_trx_commit", 0);
  }
  void kill_and_start() { server_->kill(), server_->start(); }

  test::PrivateServer* server_ = nullptr;
};

TEST_P(MysqlCrash, WithoutFlushesGrantsAreLostAndStampsComeAgain) {
  if (!server_) return;
  expect_granted_twice([&] {
    make_mysql_store(url(), names_before_the_crash, mysql_procedure({}));
    forget();
    return crash([&] { return open_mysql_store(url()); }, [&] { kill_and_start(); });
  });
}

// Clients with old connections are refused as well as newcomers, until the setting is right.
TEST_P(MysqlCrash, LocksetGrantsAndRenewsNothingWithoutFlushes) {
  if (!server_) return;
  for (const char* const strategy : {"select-for-update", "unique-index"}) {
    const std::string address = url() + "?strategy=" + strategy + "&space=" + strategy[0];
    init_space(address, soon()).value();
    test::Client client(open_backend(address, soon()).value());
    const Stamp stamp = client.take({write("a")}).stamp;
    set("innodb_flush_log_at_trx_commit", 2);
    const auto refused = [](const auto& result) {
      ASSERT_FALSE(result);
      EXPECT_EQ(result.error().code, Errc::misconfigured) << result.error().message;
      EXPECT_NE(result.error().message.find("innodb_flush_log_at_trx_commit to 1"),
                std::string::npos)
          << result.error().message;
    };
    refused(client.ask_once({write("b")}));
    refused(client.ask_once({write("b"), read("c")}));
    const RenewRequest renewal{stamp, std::chrono::seconds(90)};
    refused(client.backend().renew(client.owner(), {&renewal, 1}, soon()));
    EXPECT_EQ(open_backend(address, soon()).error().code, Errc::misconfigured);
    EXPECT_EQ(client.holds().size(), 1U);
    set("innodb_flush_log_at_trx_commit", 1);
    EXPECT_TRUE(client.renew(stamp, std::chrono::seconds(90)));
    EXPECT_TRUE(client.release(client.take({write("b"), read("c")}).stamp));
    EXPECT_TRUE(client.release(stamp));
  }
}

TEST_P(MysqlCrash, LocksetLosesNothing) {
  if (!server_) return;
  const std::string address = url() + "?space=kept";
  init_space(address, soon()).value();
  set("innodb_flush_log_at_timeout", 2700);
  expect_nothing_lost(
      crash([&] { return open_backend(address, soon()).value(); }, [&] { kill_and_start(); }));
}

INSTANTIATE_TEST_SUITE_P(Servers, MysqlCrash, testing::Values("mariadb", "mysql"),
                         [](const auto& each) { return each.param + "_server"; });

}  // namespace
}  // namespace lockset::mutants
