// The one server that a harness's tests of this process share.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "lockset/url.h"
#include "tests/support/private_server.h"

namespace lockset::conformance {

// Which server: a private one, or the one whose administrator's address is in a variable.
struct ServerChoice {
  const char* kind;      // as in PrivateServer
  const char* variable;  // "LOCKSET_TEST_REDIS_URL"

  [[nodiscard]] const char* given_url() const { return std::getenv(variable); }
  // Why there can't be one; unset if there can.
  [[nodiscard]] std::optional<std::string> unavailable() const {
    if (given_url() != nullptr) return {};
    return test::PrivateServer::unavailable(kind);
  }
};

// `Admin` is a client that bypasses the backend under test, made from the address.
template <class Admin>
class SharedServer {
 public:
  // Throws for a client whose connection is gone.
  using Ask = std::function<void(Admin&)>;

  // Starts the server, unless an address is given.
  SharedServer(const ServerChoice& choice, Ask ask) : ask_(std::move(ask)) {
    const char* const given = choice.given_url();
    if (given == nullptr) own_ = std::make_unique<test::PrivateServer>(choice.kind);
    url_ = own_ ? own_->admin_url() : given;
  }

  [[nodiscard]] const std::string& url() const { return url_; }
  // The same address with another port of this host.
  [[nodiscard]] std::string url_through(std::uint16_t port) const {
    const Url url = Url::parse(url_).value();
    const std::string user = url.user + (url.password.empty() ? "" : ":" + url.password);
    return url.scheme + "://" + (user.empty() ? "" : user + "@") +
           "127.0.0.1:" + std::to_string(port) + url.path;
  }
  // Whether it belongs to the tests, which may disturb it then; own() throws otherwise.
  [[nodiscard]] bool is_own() const { return own_ != nullptr; }
  [[nodiscard]] test::PrivateServer& own() {
    if (!own_) throw std::logic_error("the server is not the tests' own");
    return *own_;
  }
  // Runs with the administrator's connection, made anew if the server was restarted. One user at a
  // time.
  template <class Work>
  auto as_admin(Work work) {
    const std::lock_guard lock(mutex_);
    if (!admin_ || !alive()) {
      admin_.reset();
      admin_ = std::make_unique<Admin>(url_);
    }
    return work(*admin_);
  }

 private:
  bool alive() {
    try {
      ask_(*admin_);
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }

  const Ask ask_;
  std::unique_ptr<test::PrivateServer> own_;
  std::string url_;
  std::mutex mutex_;
  std::unique_ptr<Admin> admin_;
};

}  // namespace lockset::conformance
