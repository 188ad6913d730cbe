// Common parts of the tests for memcached only: a private server with one space.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "lockset/lockset.h"
#include "tests/memcached/raw_client.h"
#include "tests/support/client.h"
#include "tests/support/finding.h"
#include "tests/support/private_server.h"
#include "tests/support/requirement.h"
#include "tests/support/tcp_proxy.h"
#include "tests/support/wait.h"

namespace lockset::memcached_tests {

using namespace std::chrono_literals;
using test::Client;
using test::eventually;
using test::soon;

class MemcachedTest : public testing::Test {
 protected:
  // A server with these options. False if there is none here: then the test returns.
  bool start(const std::vector<std::string>& options = {}) {
    if (!test::have_server("memcached")) return false;
    server_ = std::make_unique<test::PrivateServer>("memcached", options);
    return true;
  }
  // The same with the space "lockset", whose leases and quarantines are short.
  bool start_with_space(const std::vector<std::string>& options = {}) {
    if (!start(options)) return false;
    init_space(url() + "?first=on", soon()).value();
    client().change(SetMaxLease{4s});
    return true;
  }
  [[nodiscard]] test::PrivateServer& server() { return *server_; }
  [[nodiscard]] std::string url() const { return server_->admin_url(); }
  [[nodiscard]] Client client(const std::string& app = "app") const {
    return Client(open_backend(url(), soon()).value(), app);
  }
  [[nodiscard]] test::RawMemcached raw() const { return test::RawMemcached(server_->port()); }
  [[nodiscard]] std::string life() const { return raw().get("lockset:lockset").value().value; }

  // Nothing is granted now, and the error says why.
  static void expect_refused(Client& client) {
    const Result<AcquireOutcome> outcome = client.ask({write("early")}, {.lease = 1s});
    ASSERT_FALSE(outcome) << test::describe(outcome);
    EXPECT_EQ(outcome.error().code, Errc::unavailable) << outcome.error().message;
    EXPECT_NE(outcome.error().message.find("until all leases of before"), std::string::npos)
        << outcome.error().message;
  }
  static void wait_out(Client& client) {
    EXPECT_TRUE(client.inspect().quarantine);
    EXPECT_TRUE(eventually([&] { return !client.inspect().quarantine; }));
  }

 private:
  std::unique_ptr<test::PrivateServer> server_;
};

}  // namespace lockset::memcached_tests
