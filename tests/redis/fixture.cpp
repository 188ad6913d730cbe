#include "tests/redis/fixture.h"

#include <cstdlib>
#include <fstream>

#include "lockset/url.h"
#include "tests/support/requirement.h"

namespace lockset::redis_tests {

bool says(const std::string& message, const std::string& part) {
  return message.find(part) != std::string::npos;
}

Environment::Environment(const char* name, const std::string& value) : name_(name) {
  ::setenv(name, value.c_str(), 1);
}
Environment::~Environment() { ::unsetenv(name_); }

std::string checked(const Error& error, Errc code) {
  EXPECT_EQ(error.code, code) << error.message;
  EXPECT_FALSE(says(error.message, "\n")) << "more than one line: " << error.message;
  return error.message;
}

bool RedisServerTest::start() {
  if (!test::have_server("redis")) return false;
  static PrivateServer shared("redis");
  server_ = &shared;
  reconnect();
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"REPLICAOF", "NO", "ONE"},
                                             {"CONFIG", "SET", "maxmemory", "0"},
                                             {"CONFIG", "SET", "maxmemory-policy", "noeviction"},
                                             {"CONFIG", "SET", "min-replicas-to-write", "0"},
                                             {"CONFIG", "SET", "appendfsync", "always"},
                                             {"CONFIG", "RESETSTAT"},
                                             {"ACL", "DELUSER", "app"},
                                             {"FLUSHALL"}}) {
    admin().say(command);
  }
  init_space(url(), soon()).value();
  return true;
}

bool RedisServerTest::start_own(const std::vector<std::string>& lines) {
  if (!start_without_space(lines)) return false;
  init_space(url(), soon()).value();
  return true;
}

bool RedisServerTest::start_without_space(const std::vector<std::string>& lines) {
  if (!test::have_server("redis")) return false;
  own_ = std::make_unique<PrivateServer>("redis", lines);
  server_ = own_.get();
  reconnect();
  return true;
}

void RedisServerTest::reconnect() { admin_ = std::make_unique<RawRedis>(server_->admin_url()); }

std::string RedisServerTest::password() const {
  std::ifstream file(server_->folder() / "password");
  std::string line;
  std::getline(file, line);
  return line;
}

std::string RedisServerTest::url(const std::string& parameters) const {
  return server_->admin_url() + (parameters.empty() ? "" : "?" + parameters);
}

std::string RedisServerTest::at(const Address& address) const {
  std::string login = address.user;
  if (!address.password.empty()) login += ":" + address.password;
  if (!login.empty()) login += "@";
  return address.scheme + "://" + login + address.host + ":" + std::to_string(server_->port()) +
         "/" + address.database + (address.parameters.empty() ? "" : "?" + address.parameters);
}

Client RedisServerTest::client(const std::string& app) const {
  return Client(open_backend(url(), soon()).value(), app);
}

std::string RedisServerTest::refused(const std::string& url, Errc code) const {
  const auto opened = open_backend(url, soon());
  if (opened) {
    ADD_FAILURE() << "it was opened";
    return {};
  }
  const std::string secret = Url::parse(url).value().password;
  EXPECT_TRUE(secret.empty() || !says(opened.error().message, secret)) << opened.error().message;
  return checked(opened.error(), code);
}

std::size_t RedisServerTest::keys_of_holds() {
  std::size_t count = 0;
  for (const test::RawReply& key : admin().say({"KEYS", "{lockset}*"}).list) {
    if (key.text != "{lockset}" && key.text != "{lockset}:config" && key.text != "{lockset}:here") {
      ++count;
    }
  }
  return count;
}

}  // namespace lockset::redis_tests
