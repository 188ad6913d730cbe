#include "tests/mysql/fixture.h"

#include <algorithm>
#include <stdexcept>

#include "backends/mysql/call_text.h"
#include "lockset/url.h"
#include "tests/support/requirement.h"

namespace lockset::mysql_tests {

namespace {

std::string quoted(const std::string& value) {
  const bool number = !value.empty() && value.find_first_not_of("0123456789.") == std::string::npos;
  return number ? value : "'" + value + "'";
}

}  // namespace

std::string name_of(const testing::TestParamInfo<ServerKind>& info) {
  std::string name = info.param.kind + "_" + info.param.strategy;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

bool says(const std::string& message, const std::string& part) {
  return message.find(part) != std::string::npos;
}

void MysqlTest::SetUp() {
  if (!test::have_server(GetParam().kind)) return;
  admin_ = session();
  space_ = "t" + Token::random().hex().substr(0, 20);
  init_space(url(), soon()).value();
}

void MysqlTest::TearDown() {
  if (!admin_) return;
  admin_->code_of("ROLLBACK");
  std::reverse(globals_.begin(), globals_.end());
  for (const auto& [variable, value] : globals_) {
    admin_->rows("SET GLOBAL " + variable + " = " + quoted(value));
  }
}

test::PrivateServer& MysqlTest::server() const {
  static std::map<std::string, std::unique_ptr<test::PrivateServer>> servers;
  std::unique_ptr<test::PrivateServer>& server = servers[GetParam().kind];
  if (!server) server = std::make_unique<test::PrivateServer>(GetParam().kind);
  return *server;
}

std::unique_ptr<RawMysql> MysqlTest::session() const {
  return std::make_unique<RawMysql>(server().admin_url());
}

std::string MysqlTest::url(const std::string& more) const {
  return server().admin_url() + "?space=" + space_ + "&strategy=" + strategy() +
         (more.empty() ? "" : "&" + more);
}

std::string MysqlTest::url(const Address& address) const {
  return "mysql://" + address.user + (address.password.empty() ? "" : ":" + address.password) +
         "@" + address.host + ":" + std::to_string(server().port()) + "/" + address.database +
         (address.parameters.empty() ? "" : "?" + address.parameters);
}

std::shared_ptr<Backend> MysqlTest::open(const std::string& more) const {
  return open_backend(url(more), soon()).value();
}

Client MysqlTest::client(const std::string& app) const { return Client(open(), app); }

void MysqlTest::set_global(const std::string& variable, const std::string& value) {
  globals_.emplace_back(variable, admin().value("SELECT @@GLOBAL." + variable));
  admin().rows("SET GLOBAL " + variable + " = " + quoted(value));
}

Address MysqlTest::runtime_user(const std::string& password, const std::string& options,
                                Role role) {
  const std::string user = "u" + Token::random().hex().substr(0, 20);
  admin().rows("CREATE USER " + user + "@'%' IDENTIFIED BY '" + password + "' " + options);
  allow(url(), role, user, soon()).value();
  return {.user = user,
          .password = password,
          .parameters = "space=" + space_ + "&strategy=" + strategy()};
}

std::vector<std::string> MysqlTest::sessions_of(const std::string& user) {
  // While a procedure runs, the server shows its definer's name instead. A listening connection
  // does nothing else, so it is found by its lock.
  std::string sql = "SELECT id FROM information_schema.processlist WHERE user = '" + user + "'";
  if (strategy() != "session") {
    sql += " OR id IN (SELECT IS_USED_LOCK(CONCAT('lockset ', listener)) FROM " +
           table("_waiters") + ")";
  }
  std::vector<std::string> ids;
  for (const RawMysql::Row& row : admin().rows(sql)) ids.push_back(row.at(0).value());
  return ids;
}

void MysqlTest::kill_sessions_of(const std::string& user) {
  for (const std::string& id : sessions_of(user)) {
    (void)admin().code_of("KILL CONNECTION " + id);  // may be gone already
  }
  EXPECT_TRUE(eventually([&] { return sessions_of(user).empty(); }));
}

std::string MysqlTest::acquire_name() const {
  return strategy() == "unique-index" ? "_acquire_key" : "_acquire_rows";
}

std::string MysqlTest::call_acquire(RawMysql& session, const std::string& procedure,
                                    const Wanted& wanted) {
  const LockSet set = test::make_set(wanted);
  std::string json;
  for (const LockRequest& item : set.items()) {
    json += (json.empty() ? "[[" : ",[") + mysql::json_string(item.name) +
            (item.mode == Mode::write ? ",1,1]" : ",0,1]");
  }
  const LockRequest& first = set.items().front();
  mysql::CallText call(table(procedure));
  call.number(session.number("SELECT config_version FROM " + table("_space"))).bytes(first.name);
  if (set.items().size() == 1) {
    call.null();
  } else {
    call.bytes(mysql::packed_names(set));
  }
  call.utf8(json + "]").number(static_cast<std::int64_t>(set.items().size()));
  call.number(first.mode == Mode::write ? 1 : 0).number(60'000'000);
  call.bytes(mysql::bytes_of(Token::random())).bytes("raw").bytes("raw").number(0).bytes("raw");
  call.number(0).number(60'000'000);
  call.number(0).number(unlimited_overtakes).null().null();  // it will not wait
  return session.rows(call.str()).at(0).at(0).value();
}

void MysqlTest::copy_procedure(const std::string& from, const std::string& to,
                               const std::vector<std::pair<std::string, std::string>>& replaced) {
  std::string sql = admin().rows("SHOW CREATE PROCEDURE " + table(from)).at(0).at(2).value();
  const auto replace = [&](const std::string& old, const std::string& now) {
    const std::size_t at = sql.find(old);
    if (at == std::string::npos) throw std::runtime_error("no " + old + " in " + from);
    sql.replace(at, old.size(), now);
  };
  replace("`" + table(from) + "`", table(to));
  for (const auto& [old, now] : replaced) replace(old, now);
  admin().rows(sql);
}

void MysqlTest::copy_acquire_without_commit(const std::string& to) {
  copy_procedure(acquire_name(), to, {{"COMMIT;\n  SELECT IF(", "SELECT IF("}});
}

bool MysqlTest::rows_are_waited_for(int by) {
  return eventually([&] { return status("Innodb_row_lock_current_waits") >= by; });
}

std::int64_t MysqlTest::deadlocks() {
  return is_mariadb() ? status("Innodb_deadlocks")
                      : admin().number(
                            "SELECT count FROM information_schema.innodb_metrics "
                            "WHERE name = 'lock_deadlocks'");
}

std::int64_t MysqlTest::live_writes(const std::string& name) {
  return admin().number("SELECT COUNT(*) FROM " + table("_locks") + " l JOIN " + table("_locks") +
                        " f ON f.name = COALESCE(l.lease_at, l.name) AND f.stamp = l.stamp "
                        "WHERE l.name = '" +
                        name +
                        "' AND l.mode = 1 AND "
                        "(f.expires IS NULL OR f.expires > " +
                        now_us + ")");
}

std::int64_t MysqlTest::status(const std::string& name) {
  return std::stoll(admin().rows("SHOW GLOBAL STATUS LIKE '" + name + "'").at(0).at(1).value());
}

std::string MysqlTest::refused(const std::string& url, Errc code) const {
  const auto opened = open_backend(url, soon());
  if (opened) {
    ADD_FAILURE() << "it was opened";
    return {};
  }
  const std::string password = Url::parse(url).value().password;
  EXPECT_TRUE(password.empty() || !says(opened.error().message, password));
  return checked(opened.error(), code);
}

std::string MysqlTest::checked(const Error& error, Errc code) {
  EXPECT_EQ(error.code, code) << error.message;
  EXPECT_FALSE(says(error.message, "\n")) << "more than one line: " << error.message;
  return error.message;
}

}  // namespace lockset::mysql_tests
