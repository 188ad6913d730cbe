#include "tests/conformance/redis_harness.h"

#include <memory>

#include "lockset/registry.h"
#include "lockset/stamp.h"
#include "tests/conformance/shared_server.h"
#include "tests/redis/raw_client.h"
#include "tests/support/wait.h"

namespace lockset::conformance {
namespace {

constexpr ServerChoice choice{"redis", "LOCKSET_TEST_REDIS_URL"};

using Server = SharedServer<test::RawRedis>;

// Started at its first use.
Server& the_server() {
  static Server server(choice, [](test::RawRedis& admin) { admin.say({"PING"}); });
  return server;
}

class RedisSpace final : public Space {
 public:
  RedisSpace() : name_("t" + Token::random().hex().substr(0, 24)) {
    init_space(url(), test::soon()).value();
  }
  ~RedisSpace() override {
    try {
      the_server().as_admin([&](test::RawRedis& admin) {
        return admin.say({"EVAL",
                          "for _, key in ipairs(redis.call('KEYS', ARGV[1])) do "
                          "redis.call('DEL', key) end return 1",
                          "0", "{" + name_ + "}*"});
      });
    } catch (const std::exception&) {  // removed with the server
    }
  }
  Result<std::unique_ptr<Backend>> open() override { return open_backend(url(), test::soon()); }
  [[nodiscard]] std::string url() const override { return the_server().url() + "?space=" + name_; }
  std::vector<RawHold> look() override {
    return the_server().as_admin(
        [&](test::RawRedis& admin) { return test::look_into(admin, name_); });
  }
  test::PrivateServer& server() override { return the_server().own(); }
  [[nodiscard]] std::string url_through(std::uint16_t port) const override {
    return the_server().url_through(port) + "?space=" + name_;
  }
  void kill_connections() override {
    the_server().as_admin([&](test::RawRedis& admin) {
      admin.say({"CLIENT", "KILL", "TYPE", "pubsub"});
      return admin.say({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    });
  }

 private:
  const std::string name_;
};

class RedisHarness final : public Harness {
 public:
  [[nodiscard]] std::string name() const override { return "redis"; }
  [[nodiscard]] std::string scheme() const override { return "redis"; }
  [[nodiscard]] HarnessTraits harness_traits() const override {
    return {.looks_raw = true, .has_server = choice.given_url() == nullptr, .quarantines = true};
  }
  [[nodiscard]] bool always_available() const override { return false; }
  [[nodiscard]] std::optional<std::string> unavailable() override { return choice.unavailable(); }
  std::unique_ptr<Space> new_space() override { return std::make_unique<RedisSpace>(); }
};

}  // namespace

Harness& redis_harness() {
  static RedisHarness harness;
  return harness;
}

}  // namespace lockset::conformance
