// Common parts of the tests for Redis only: a server, addresses that differ in one part, and what
// every refusal must be.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "lockset/lockset.h"
#include "tests/redis/raw_client.h"
#include "tests/support/client.h"
#include "tests/support/finding.h"
#include "tests/support/private_server.h"
#include "tests/support/wait.h"

namespace lockset::redis_tests {

using namespace std::chrono_literals;
using test::Client;
using test::eventually;
using test::finding;
using test::PrivateServer;
using test::RawRedis;
using test::soon;
using test::Wanted;

// An address of the server. Empty parts are left out.
struct Address {
  std::string user{};
  std::string password{};
  std::string host = "127.0.0.1";
  std::string database = "0";
  std::string parameters{};
  std::string scheme = "redis";
};

bool says(const std::string& message, const std::string& part);

// Sets a variable of the environment while it lives. REQUIRES: no other thread runs.
class Environment {
 public:
  Environment(const char* name, const std::string& value);
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment();

 private:
  const char* name_;
};

// The error has this code and is one line; returns the message.
std::string checked(const Error& error, Errc code);
// The same for a failed result.
template <class T>
std::string failed(const Result<T>& result, Errc code) {
  if (!result) return checked(result.error(), code);
  ADD_FAILURE() << "it did not fail";
  return {};
}

class RedisServerTest : public testing::Test {
 protected:
  // A server that contains the space "lockset": the one that tests share, as if it were new. False
  // if there is no server: then the test returns.
  bool start();
  // A separate server for this test, with these lines of configuration, for changes that start()
  // does not undo.
  bool start_own(const std::vector<std::string>& lines = {});
  bool start_without_space(const std::vector<std::string>& lines);

  [[nodiscard]] PrivateServer& server() { return *server_; }
  // The administrator's connection; reconnect() makes a new one after a restart.
  [[nodiscard]] RawRedis& admin() { return *admin_; }
  void reconnect();

  [[nodiscard]] std::filesystem::path folder() const { return server_->folder(); }
  [[nodiscard]] std::string password() const;
  // The administrator's address.
  [[nodiscard]] std::string url(const std::string& parameters = {}) const;
  [[nodiscard]] std::string at(const Address& address) const;
  [[nodiscard]] Client client(const std::string& app = "app") const;

  // Opening fails with this code, in one line without the address's password; returns the message.
  std::string refused(const std::string& url, Errc code) const;
  // How many keys the space has besides its own: for holds, their leases, waiters.
  [[nodiscard]] std::size_t keys_of_holds();

 private:
  PrivateServer* server_ = nullptr;
  std::unique_ptr<PrivateServer> own_;
  std::unique_ptr<RawRedis> admin_;
};

}  // namespace lockset::redis_tests
