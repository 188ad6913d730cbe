#include "tests/conformance/postgresql_harness.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <pqxx/pqxx>
#include <stdexcept>

#include "lockset/registry.h"
#include "lockset/stamp.h"
#include "lockset/url.h"
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
  static const char* given_url() { return std::getenv("LOCKSET_TEST_POSTGRESQL_URL"); }

  [[nodiscard]] const std::string& url() const { return url_; }
  [[nodiscard]] test::PrivateServer& own() {
    if (!own_) throw std::logic_error("the server is not the tests' own");
    return *own_;
  }
  // The administrator's connection, made anew where the server was restarted; one user at
  // a time.
  template <class Work>
  auto as_admin(Work work) {
    const std::lock_guard lock(mutex_);
    if (!admin_ || !alive()) {
      admin_.reset();
      admin_ = std::make_unique<pqxx::connection>(url_);
      quiet_ = std::make_unique<pqxx::quiet_errorhandler>(*admin_);
    }
    pqxx::work transaction(*admin_);
    auto result = work(transaction);
    transaction.commit();
    return result;
  }

 private:
  Server() {
    if (given_url() == nullptr) own_ = std::make_unique<test::PrivateServer>("postgresql");
    url_ = own_ ? own_->admin_url() : given_url();
  }
  bool alive() {
    try {
      pqxx::nontransaction(*admin_).exec("SELECT 1");
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }

  std::unique_ptr<test::PrivateServer> own_;
  std::string url_;
  std::mutex mutex_;
  std::unique_ptr<pqxx::connection> admin_;
  std::unique_ptr<pqxx::quiet_errorhandler> quiet_;
};

// One row per name and hold, in one statement, so that it is one state of the store.
std::vector<RawHold> look_into(const std::string& space) {
  const pqxx::result rows = Server::instance().as_admin([&](pqxx::work& work) {
    return work.exec("SELECT stamp, app, size, expires IS NOT NULL, name, mode FROM \"" + space +
                     "\".locks ORDER BY stamp, name COLLATE \"C\"");
  });
  std::map<Stamp, RawHold> holds;
  std::map<Stamp, std::pair<std::size_t, std::size_t>> heads;  // how many, and its size
  for (const pqxx::row& row : rows) {
    const Stamp stamp{row[0].as<std::int64_t>()};
    RawHold& hold = holds[stamp];
    hold.stamp = stamp;
    hold.items.push_back(
        {row[4].as<std::string>(), row[5].as<std::string>() == "w" ? Mode::write : Mode::read});
    auto& [count, size] = heads[stamp];
    if (!row[3].as<bool>()) continue;
    ++count;
    size = row[2].as<std::size_t>();
    hold.app = row[1].as<std::string>();
  }
  std::vector<RawHold> result;
  for (auto& [stamp, hold] : holds) {
    const auto [count, size] = heads[stamp];
    if (count != 1 || size != hold.items.size()) {
      throw std::runtime_error(
          "the hold " + std::to_string(stamp.value) + " has " + std::to_string(count) + " heads, " +
          std::to_string(hold.items.size()) + " names of " + std::to_string(size));
    }
    result.push_back(std::move(hold));
  }
  return result;
}

class PostgresqlSpace final : public Space {
 public:
  explicit PostgresqlSpace(const std::string& strategy)
      : name_("t" + Token::random().hex().substr(0, 24)), strategy_(strategy) {
    init_space(url(), test::soon()).value();
  }
  ~PostgresqlSpace() override {
    try {
      Server::instance().as_admin([&](pqxx::work& work) {
        return work.exec("SET LOCAL client_min_messages = warning; DROP SCHEMA \"" + name_ +
                         "\" CASCADE");
      });
    } catch (const std::exception&) {  // the server goes with the tests
    }
  }
  Result<std::unique_ptr<Backend>> open() override { return open_backend(url(), test::soon()); }
  [[nodiscard]] std::string url() const override { return Server::instance().url() + parameters(); }
  std::vector<RawHold> look() override { return look_into(name_); }
  test::PrivateServer& server() override { return Server::instance().own(); }
  [[nodiscard]] std::string url_through(std::uint16_t port) const override {
    const Url url = Url::parse(Server::instance().url()).value();
    return url.scheme + "://" + url.user + ":" + url.password +
           "@127.0.0.1:" + std::to_string(port) + url.path + parameters();
  }
  void kill_connections() override {
    Server::instance().as_admin([&](pqxx::work& work) {
      return work.exec(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
          "WHERE application_name = 'lockset' AND pid <> pg_backend_pid()");
    });
  }

 private:
  [[nodiscard]] std::string parameters() const {
    return "?space=" + name_ + "&strategy=" + strategy_;
  }
  const std::string name_;
  const std::string strategy_;
};

class PostgresqlHarness final : public Harness {
 public:
  explicit PostgresqlHarness(std::string strategy) : strategy_(std::move(strategy)) {}

  [[nodiscard]] std::string name() const override { return "postgresql_" + strategy_; }
  [[nodiscard]] std::string scheme() const override { return "postgresql"; }
  [[nodiscard]] HarnessTraits harness_traits() const override {
    return {.looks_raw = true, .has_server = Server::given_url() == nullptr};
  }
  [[nodiscard]] bool always_available() const override { return false; }
  [[nodiscard]] std::optional<std::string> unavailable() override {
    if (Server::given_url() != nullptr) return {};
    return test::PrivateServer::unavailable("postgresql");
  }
  std::unique_ptr<Space> new_space() override {
    return std::make_unique<PostgresqlSpace>(strategy_);
  }

 private:
  const std::string strategy_;
};

}  // namespace

Harness& postgresql_advisory_harness() {
  static PostgresqlHarness harness("advisory");
  return harness;
}

Harness& postgresql_serializable_harness() {
  static PostgresqlHarness harness("serializable");
  return harness;
}

}  // namespace lockset::conformance
