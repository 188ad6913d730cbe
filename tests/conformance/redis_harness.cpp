#include "tests/conformance/redis_harness.h"

#include <cstdlib>
#include <memory>
#include <mutex>
#include <stdexcept>

#include "lockset/registry.h"
#include "lockset/stamp.h"
#include "lockset/url.h"
#include "tests/redis/raw_client.h"
#include "tests/support/wait.h"

namespace lockset::conformance {
namespace {

// The process's server, started at its first use.
class Server {
 public:
  static Server& instance() {
    static Server server;
    return server;
  }
  static const char* given_url() { return std::getenv("LOCKSET_TEST_REDIS_URL"); }

  [[nodiscard]] const std::string& url() const { return url_; }
  [[nodiscard]] test::PrivateServer& own() {
    if (!own_) throw std::logic_error("the server is not the tests' own");
    return *own_;
  }
  // The administrator's connection, made anew where the server was restarted; one user at a
  // time.
  template <class Work>
  auto as_admin(Work work) {
    const std::lock_guard lock(mutex_);
    if (!admin_ || !alive()) admin_ = std::make_unique<test::RawRedis>(url_);
    return work(*admin_);
  }

 private:
  Server() {
    if (given_url() == nullptr) own_ = std::make_unique<test::PrivateServer>("redis");
    url_ = own_ ? own_->admin_url() : given_url();
  }
  bool alive() {
    try {
      admin_->say({"PING"});
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }

  std::unique_ptr<test::PrivateServer> own_;
  std::string url_;
  std::mutex mutex_;
  std::unique_ptr<test::RawRedis> admin_;
};

class RedisSpace final : public Space {
 public:
  RedisSpace() : name_("t" + Token::random().hex().substr(0, 24)) {
    init_space(url(), test::soon()).value();
  }
  ~RedisSpace() override {
    try {
      Server::instance().as_admin([&](test::RawRedis& admin) {
        return admin.say({"EVAL",
                          "for _, key in ipairs(redis.call('KEYS', ARGV[1])) do "
                          "redis.call('DEL', key) end return 1",
                          "0", "{" + name_ + "}*"});
      });
    } catch (const std::exception&) {  // the server goes with the tests
    }
  }
  Result<std::unique_ptr<Backend>> open() override { return open_backend(url(), test::soon()); }
  [[nodiscard]] std::string url() const override {
    return Server::instance().url() + "?space=" + name_;
  }
  std::vector<RawHold> look() override {
    return Server::instance().as_admin(
        [&](test::RawRedis& admin) { return test::look_into(admin, name_); });
  }
  test::PrivateServer& server() override { return Server::instance().own(); }
  [[nodiscard]] std::string url_through(std::uint16_t port) const override {
    const Url url = Url::parse(Server::instance().url()).value();
    return url.scheme + "://" + url.user + ":" + url.password +
           "@127.0.0.1:" + std::to_string(port) + url.path + "?space=" + name_;
  }
  void kill_connections() override {
    Server::instance().as_admin([&](test::RawRedis& admin) {
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
    return {.looks_raw = true, .has_server = Server::given_url() == nullptr, .quarantines = true};
  }
  [[nodiscard]] bool always_available() const override { return false; }
  [[nodiscard]] std::optional<std::string> unavailable() override {
    if (Server::given_url() != nullptr) return {};
    return test::PrivateServer::unavailable("redis");
  }
  std::unique_ptr<Space> new_space() override { return std::make_unique<RedisSpace>(); }
};

}  // namespace

Harness& redis_harness() {
  static RedisHarness harness;
  return harness;
}

}  // namespace lockset::conformance
