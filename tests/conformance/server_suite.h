// The fixture of the tests that disturb a server and the network to it. They apply to every store
// with a server that belongs to the tests, and only to those.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "tests/conformance/suite.h"
#include "tests/support/event_counts.h"
#include "tests/support/tcp_proxy.h"

namespace lockset::conformance {

using test::EventCounts;
using test::TcpProxy;

// How long a call may take beyond its deadline, by a Stopwatch, before it counts as late: its
// threads wait for the processor.
inline constexpr Duration scheduling = 1s;

class ServerConformance : public Conformance {
 protected:
  void TearDown() override {
    proxy_.reset();
    Conformance::TearDown();
  }

  // True if there is no such server; then the test is marked as skipped.
  [[nodiscard]] bool lacks_server() {
    return skip_unless(harness().harness_traits().has_server,
                       "a server that tests may treat badly");
  }
  [[nodiscard]] test::PrivateServer& server() { return space().server(); }

  // Between the clients made below and the server; one for each test.
  [[nodiscard]] TcpProxy& proxy() {
    if (!proxy_) proxy_ = std::make_unique<TcpProxy>(server().port());
    return *proxy_;
  }
  // The address through the proxy, with additional parameters: "pool=1".
  [[nodiscard]] std::string proxied_url(const std::string& parameters = {}) {
    std::string url = space().url_through(proxy().port());
    if (parameters.empty()) return url;
    return url + (url.find('?') == std::string::npos ? "?" : "&") + parameters;
  }
  // Clients that connect through the proxy. REQUIRES: destroyed before the test ends.
  [[nodiscard]] std::shared_ptr<Backend> proxied(const std::string& parameters = {}) {
    return open_backend(proxied_url(parameters), soon()).value();
  }
  [[nodiscard]] Locks proxied_locks(Options options, const std::string& parameters = {}) {
    if (options.app.empty()) options.app = "app";
    // The limits that a test sets apply to its calls, not to the first connection.
    auto backend = open_backend(proxied_url(parameters), soon()).value();
    return lockset::open(std::move(backend), std::move(options)).value();
  }

  // Sets up everything that a first call sets up: connections, prepared statements, the rows of
  // these names.
  static void warm_up(Client& client, const Wanted& wanted) {
    for (int i = 0; i < 2; ++i) {
      const Token token = Token::random();
      const Grant grant = client.take(wanted, {.token = token});
      client.resolve(token);
      client.renew(grant.stamp, 1min);
      client.release(grant.stamp);
    }
  }

 private:
  std::unique_ptr<TcpProxy> proxy_;
};

// The server is down, or does not answer, while this object lives.
class Outage {
 public:
  enum class Kind : std::uint8_t { stopped, killed, paused };
  Outage(test::PrivateServer& server, Kind kind) : server_(server), kind_(kind) {
    if (kind_ == Kind::stopped) server_.stop();
    if (kind_ == Kind::killed) server_.kill();
    if (kind_ == Kind::paused) server_.pause();
  }
  Outage(const Outage&) = delete;
  Outage& operator=(const Outage&) = delete;
  ~Outage() {
    try {
      end();
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
    }
  }
  void end() {
    if (over_) return;
    over_ = true;
    if (kind_ == Kind::paused) {
      server_.resume();
    } else {
      server_.start();
    }
  }

 private:
  test::PrivateServer& server_;
  const Kind kind_;
  bool over_ = false;
};

}  // namespace lockset::conformance
