#include "tests/conformance/mysql_harness.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>

#include "lockset/registry.h"
#include "lockset/stamp.h"
#include "tests/conformance/shared_server.h"
#include "tests/mysql/raw_client.h"
#include "tests/support/wait.h"

namespace lockset::conformance {

namespace {

constexpr ServerChoice mariadb{"mariadb", "LOCKSET_TEST_MARIADB_URL"};
constexpr ServerChoice mysql{"mysql", "LOCKSET_TEST_MYSQL_URL"};

// The server of one kind that this process uses.
class Server : public SharedServer<test::RawMysql> {
 public:
  // Started at its first use.
  static Server& of(const ServerChoice& choice) {
    static std::map<std::string, std::unique_ptr<Server>> servers;
    std::unique_ptr<Server>& server = servers[choice.kind];
    if (!server) server.reset(new Server(choice));
    return *server;
  }

  // The name of a space that an earlier test used and that is empty again; "" if there is none.
  // Making one takes a second or two on MySQL.
  std::string used_space(bool session) {
    std::vector<std::string>& spaces = spaces_[session ? 1 : 0];
    if (spaces.empty()) return {};
    std::string name = std::move(spaces.back());
    spaces.pop_back();
    return name;
  }
  // Makes it as good as new, for used_space(). Ends the test's connections first, so that nothing
  // that is still on its way reaches the next test's space.
  void take_back(const std::string& name, bool session) {
    if (!is_own()) return remove(name, session);
    // A client of the test's other space connects again: only those that are there now have to end.
    const std::string killed = kill_connections();
    as_admin([&](test::RawMysql& admin) {
      while (admin.number("SELECT COUNT(*) FROM " + others + " AND id IN (" + killed + ")") > 0) {
      }
      for (const std::string& table : tables_of(session)) admin.rows("DELETE FROM " + name + table);
      if (session) admin.rows("UPDATE " + name + "_session SET token = '', readers = 0");
      admin.rows("UPDATE " + name +
                 "_space SET config_version = config_version + 1, stamp_base = 0, "
                 "max_lease_us = 600000000, migration_phase = 0");
      return 0;
    });
    spaces_[session ? 1 : 0].push_back(name);
  }
  void remove(const std::string& name, bool session) {
    as_admin([&](test::RawMysql& admin) {
      std::string tables = name + "_space, " + name + "_accounts";
      if (session) tables += ", " + name + "_session";
      for (const std::string& table : tables_of(session)) tables += ", " + name + table;
      admin.rows("DROP TABLE " + tables);
      for (const auto& row :
           admin.rows("SELECT routine_name FROM information_schema.routines WHERE "
                      "routine_schema = DATABASE() AND routine_name LIKE '" +
                      name + "\\_%'")) {
        admin.rows("DROP PROCEDURE " + row.front().value());
      }
      return 0;
    });
  }
  // Returns their numbers, "0, 17, 18".
  std::string kill_connections() {
    return as_admin([&](test::RawMysql& admin) {
      std::string killed = "0";
      for (const auto& row : admin.rows("SELECT id FROM " + others)) {
        (void)admin.code_of("KILL CONNECTION " + row.front().value());  // may be gone already
        killed += ", " + row.front().value();
      }
      return killed;
    });
  }

 private:
  // The connections of this user, except the administrator's own.
  static inline const std::string others =
      "information_schema.processlist WHERE id <> CONNECTION_ID() AND "
      "user = SUBSTRING_INDEX(CURRENT_USER(), '@', 1)";

  // Those with rows that a test has left.
  static std::vector<std::string> tables_of(bool session) {
    if (session) {
      return {"_lock_permits", "_epochs", "_session_clients", "_session_requests",
              "_session_holds"};
    }
    return {"_locks", "_names", "_lock_permits", "_epochs", "_waiters", "_waiter_names", "_traces"};
  }

  explicit Server(const ServerChoice& choice)
      : SharedServer(choice, [](test::RawMysql& admin) { admin.rows("SELECT 1"); }) {}

  std::array<std::vector<std::string>, 2> spaces_;  // the second: with strategy=session
};

// All rows in one statement, so that they are one state of the store.
std::vector<RawHold> look_into(Server& server, const std::string& space) {
  const std::vector<test::RawMysql::Row> rows = server.as_admin([&](test::RawMysql& admin) {
    return admin.rows("SELECT stamp, item, name, mode, app, items, lease_at FROM " + space +
                      "_locks ORDER BY stamp, item");
  });
  std::vector<RawHold> holds;
  std::vector<std::size_t> sizes;
  for (const test::RawMysql::Row& row : rows) {
    const Stamp stamp{std::stoll(row[0].value())};
    const std::string complaint = "the hold " + std::to_string(stamp.value) + " ";
    if (row[1] == "0") {
      holds.push_back({stamp, {}, row[4].value()});
      sizes.push_back(std::stoul(row[5].value()));
    } else if (holds.empty() || holds.back().stamp != stamp) {
      throw std::runtime_error(complaint + "has names but no lease");
    } else if (row[6] != holds.back().items.front().name) {
      throw std::runtime_error(complaint + "has its lease elsewhere");
    }
    holds.back().items.push_back({row[2].value(), row[3] == "1" ? Mode::write : Mode::read});
  }
  for (std::size_t i = 0; i < holds.size(); ++i) {
    if (holds[i].items.size() != sizes[i]) {
      throw std::runtime_error("the hold " + std::to_string(holds[i].stamp.value) + " has " +
                               std::to_string(holds[i].items.size()) + " names of " +
                               std::to_string(sizes[i]));
    }
    std::sort(holds[i].items.begin(), holds[i].items.end());
  }
  return holds;
}

class MysqlSpace final : public Space {
 public:
  MysqlSpace(Server& server, const std::string& strategy)
      : server_(server), name_(server.used_space(strategy == "session")), strategy_(strategy) {
    if (!name_.empty()) return;
    name_ = "t" + Token::random().hex().substr(0, 20);
    init_space(url(), test::soon()).value();
  }
  ~MysqlSpace() override {
    try {
      server_.take_back(name_, strategy_ == "session");
    } catch (const std::exception&) {  // removed with the server
    }
  }
  Result<std::unique_ptr<Backend>> open() override { return open_backend(url(), test::soon()); }
  [[nodiscard]] std::string url() const override { return server_.url() + parameters(); }
  std::vector<RawHold> look() override {
    return strategy_ == "session" ? listed() : look_into(server_, name_);
  }
  test::PrivateServer& server() override { return server_.own(); }
  [[nodiscard]] std::string url_through(std::uint16_t port) const override {
    return server_.url_through(port) + parameters();
  }
  void kill_connections() override { server_.kill_connections(); }

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
  Server& server_;
  std::string name_;
  const std::string strategy_;
};

class MysqlHarness final : public Harness {
 public:
  MysqlHarness(const ServerChoice& choice, std::string strategy)
      : choice_(choice), strategy_(std::move(strategy)) {}

  [[nodiscard]] std::string name() const override {
    std::string name = std::string(choice_.kind) + "_" + strategy_;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
  }
  [[nodiscard]] std::string scheme() const override { return "mysql"; }
  [[nodiscard]] HarnessTraits harness_traits() const override {
    return {.looks_raw = strategy_ != "session",
            .has_server = choice_.given_url() == nullptr,
            .releases_together = false};
  }
  [[nodiscard]] bool always_available() const override { return false; }
  [[nodiscard]] std::optional<std::string> unavailable() override { return choice_.unavailable(); }
  std::unique_ptr<Space> new_space() override {
    return std::make_unique<MysqlSpace>(Server::of(choice_), strategy_);
  }

 private:
  const ServerChoice choice_;
  const std::string strategy_;
};

}  // namespace

Harness& mariadb_select_for_update_harness() {
  static MysqlHarness harness(mariadb, "select-for-update");
  return harness;
}

Harness& mariadb_unique_index_harness() {
  static MysqlHarness harness(mariadb, "unique-index");
  return harness;
}

Harness& mariadb_session_harness() {
  static MysqlHarness harness(mariadb, "session");
  return harness;
}

Harness& mysql_select_for_update_harness() {
  static MysqlHarness harness(mysql, "select-for-update");
  return harness;
}

Harness& mysql_unique_index_harness() {
  static MysqlHarness harness(mysql, "unique-index");
  return harness;
}

Harness& mysql_session_harness() {
  static MysqlHarness harness(mysql, "session");
  return harness;
}

}  // namespace lockset::conformance
