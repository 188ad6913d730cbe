// Redis forgets: by a restart that keeps nothing, by FLUSHALL, by evicting keys when memory is
// short. What a store without a quarantine loses, and that Lockset does not tolerate it.
#include <gtest/gtest.h>

#include "lockset/lockset.h"
#include "tests/mutants/crash.h"
#include "tests/mutants/redis_store.h"
#include "tests/redis/raw_client.h"
#include "tests/support/private_server.h"
#include "tests/support/requirement.h"
#include "tests/support/wait.h"

namespace lockset::mutants {
namespace {

using test::soon;

class RedisCrash : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::have_server("redis")) return;
    static test::PrivateServer server("redis", {"appendonly no", "save \"\""});
    server_ = &server;
    flush();
  }
  [[nodiscard]] std::string url() const { return server_->admin_url(); }
  void tell(const std::vector<std::string>& command) { test::RawRedis(url()).say(command); }
  void flush() { tell({"FLUSHALL"}); }
  void restart() { server_->kill(), server_->start(); }
  // Writes more than there is room for.
  void fill() {
    test::RawRedis client(url());
    tell({"CONFIG", "SET", "maxmemory-policy", "volatile-lru"});
    const std::int64_t used = std::stoll(client.info("used_memory"));
    tell({"CONFIG", "SET", "maxmemory", std::to_string(used + 200'000)});
    const std::string value(1000, 'x');
    for (int i = 0; i < 2000; ++i) {
      client.say({"SET", "other-" + std::to_string(i), value, "PX", "60000"});
    }
    tell({"CONFIG", "SET", "maxmemory", "0"});
    tell({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  }
  history::Report crash_of_small_store(const std::function<void()>& misfortune) {
    flush();
    return crash([&] { return open_redis_store(url(), {}); }, misfortune);
  }

  test::PrivateServer* server_ = nullptr;
};

TEST_F(RedisCrash, WithoutQuarantineARestartLosesGrantsAndStampsComeAgain) {
  if (!server_) return;
  expect_granted_twice([&] { return crash_of_small_store([&] { restart(); }); });
}

TEST_F(RedisCrash, SoDoesFlushall) {
  if (!server_) return;
  expect_granted_twice([&] { return crash_of_small_store([&] { flush(); }); });
}

TEST_F(RedisCrash, SoDoesAServerThatThrowsKeysAway) {
  if (!server_) return;
  expect_granted_twice([&] { return crash_of_small_store([&] { fill(); }); });
}

// The space is gone until a client that knows it restores it; then the quarantine holds.
TEST_F(RedisCrash, LocksetGrantsNothingAfterARestartOrFlushall) {
  if (!server_) return;
  for (const bool restarts : {true, false}) {
    init_space(url(), soon()).value();
    const std::shared_ptr<Backend> opened = open_backend(url(), soon()).value();
    expect_nothing_lost(
        crash([&] { return opened; },
              [&] {
                restarts ? restart() : flush();
                // Connected clients notice it, and connect again.
                EXPECT_TRUE(test::eventually([&] { return opened->load_config(soon()).ok(); }));
              }));
    flush();
  }
}

// The server does this only if it is told to, and then open refuses it.
TEST_F(RedisCrash, LocksetRefusesAServerThatThrowsKeysAway) {
  if (!server_) return;
  init_space(url(), soon()).value();
  tell({"CONFIG", "SET", "maxmemory", "100mb"});
  tell({"CONFIG", "SET", "maxmemory-policy", "volatile-lru"});
  EXPECT_EQ(open_backend(url(), soon()).error().code, Errc::misconfigured);
  tell({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  EXPECT_TRUE(open_backend(url(), soon()));
  tell({"CONFIG", "SET", "maxmemory", "0"});
}

}  // namespace
}  // namespace lockset::mutants
