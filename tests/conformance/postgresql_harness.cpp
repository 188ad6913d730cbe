#include "tests/conformance/postgresql_harness.h"

#include <algorithm>
#include <map>
#include <memory>
#include <pqxx/pqxx>
#include <stdexcept>

#include "backends/postgresql/pqxx_versions.h"
#include "lockset/registry.h"
#include "lockset/stamp.h"
#include "tests/conformance/shared_server.h"
#include "tests/support/wait.h"

namespace lockset::conformance {

namespace {

constexpr ServerChoice choice{"postgresql", "LOCKSET_TEST_POSTGRESQL_URL"};

struct Admin {
  explicit Admin(const std::string& url) : connection(url), quiet(connection) {}
  pqxx::connection connection;
  postgresql::Quiet quiet;
};

using Server = SharedServer<Admin>;

// Started at its first use.
Server& the_server() {
  static Server server(
      choice, [](Admin& admin) { pqxx::nontransaction(admin.connection).exec("SELECT 1"); });
  return server;
}

// In one transaction.
template <class Work>
auto as_admin(Work work) {
  return the_server().as_admin([&](Admin& admin) {
    pqxx::work transaction(admin.connection);
    auto result = work(transaction);
    transaction.commit();
    return result;
  });
}

// One row per name and hold, in one statement, so that it is one state of the store.
std::vector<RawHold> look_into(const std::string& space) {
  const pqxx::result rows = as_admin([&](pqxx::work& work) {
    return work.exec("SELECT stamp, app, size, expires IS NOT NULL, name, mode FROM \"" + space +
                     "\".locks ORDER BY stamp, name COLLATE \"C\"");
  });
  std::map<Stamp, RawHold> holds;
  std::map<Stamp, std::pair<std::size_t, std::size_t>> heads;  // how many names, and the size of
                                                               // the set
  for (const auto& row : rows) {
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
      as_admin([&](pqxx::work& work) {
        return work.exec("SET LOCAL client_min_messages = warning; DROP SCHEMA \"" + name_ +
                         "\" CASCADE");
      });
    } catch (const std::exception&) {  // removed with the server
    }
  }
  Result<std::unique_ptr<Backend>> open() override { return open_backend(url(), test::soon()); }
  [[nodiscard]] std::string url() const override { return the_server().url() + parameters(); }
  std::vector<RawHold> look() override {
    return strategy_ == "session" ? listed() : look_into(name_);
  }
  test::PrivateServer& server() override { return the_server().own(); }
  [[nodiscard]] std::string url_through(std::uint16_t port) const override {
    return the_server().url_through(port) + parameters();
  }
  void kill_connections() override {
    as_admin([&](pqxx::work& work) {
      return work.exec(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
          "WHERE application_name = 'lockset' AND pid <> pg_backend_pid()");
    });
  }

 private:
  // With strategy=session a hold is in no table.
  std::vector<RawHold> listed() {
    std::vector<RawHold> holds;
    const auto client = open().value();
    for (const HoldInfo& hold : client->inspect({}, test::soon()).value().holds) {
      holds.push_back({hold.stamp, hold.items, hold.owner.app});
    }
    return holds;
  }
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
    return {.looks_raw = strategy_ != "session",
            .has_server = choice.given_url() == nullptr,
            .works_during_exit = PQXX_VERSION_MAJOR >= 7};
  }
  [[nodiscard]] bool always_available() const override { return false; }
  [[nodiscard]] std::optional<std::string> unavailable() override { return choice.unavailable(); }
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

Harness& postgresql_session_harness() {
  static PostgresqlHarness harness("session");
  return harness;
}

}  // namespace lockset::conformance
