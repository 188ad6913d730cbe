#include "tests/conformance/memcached_harness.h"

#include <memory>

#include "lockset/registry.h"
#include "lockset/stamp.h"
#include "tests/conformance/memory_harness.h"
#include "tests/support/tcp_proxy.h"
#include "tests/support/wait.h"

namespace lockset::conformance {
namespace {

constexpr const char* kind = "memcached";

struct Server {
  test::PrivateServer own{kind};
  test::TcpProxy proxy{own.port()};
};

// Started at its first use.
Server& the_server() {
  static Server server;
  return server;
}

// Stays in the server until that ends.
class MemcachedSpace final : public Space {
 public:
  MemcachedSpace() : name_("t" + Token::random().hex().substr(0, 24)) {
    init_space(url() + "?first=on", test::soon()).value();
  }
  Result<std::unique_ptr<Backend>> open() override { return open_backend(url(), test::soon()); }
  [[nodiscard]] std::string url() const override { return url_through(the_server().proxy.port()); }
  std::vector<RawHold> look() override { return look_by_inspecting(*open().value()); }
  test::PrivateServer& server() override { return the_server().own; }
  [[nodiscard]] std::string url_through(std::uint16_t port) const override {
    return "memcached://127.0.0.1:" + std::to_string(port) + "/" + name_;
  }
  void kill_connections() override { the_server().proxy.cut_all(); }

 private:
  const std::string name_;
};

class MemcachedHarness final : public Harness {
 public:
  [[nodiscard]] std::string name() const override { return kind; }
  [[nodiscard]] std::string scheme() const override { return kind; }
  [[nodiscard]] HarnessTraits harness_traits() const override {
    return {.has_server = true,
            .quarantines = true,
            .keeps_after_restart = false,
            .changes_by = "cas ",
            .coarse_by = std::chrono::seconds(3)};
  }
  [[nodiscard]] bool always_available() const override { return false; }
  [[nodiscard]] std::optional<std::string> unavailable() override {
    return test::PrivateServer::unavailable(kind);
  }
  std::unique_ptr<Space> new_space() override { return std::make_unique<MemcachedSpace>(); }
};

}  // namespace

Harness& memcached_harness() {
  static MemcachedHarness harness;
  return harness;
}

}  // namespace lockset::conformance
