#include "tests/postgresql/fixture.h"

#include <cstdlib>
#include <fstream>

#include "tests/support/requirement.h"

namespace lockset::postgresql_tests {

test::PrivateServer& server() {
  static test::PrivateServer server("postgresql");
  return server;
}

std::string Address::url() const {
  std::string text = "postgresql://" + user;
  if (!password.empty()) {
    text += ':';
    for (const char c : password) text += c == ' ' ? std::string("%20") : std::string(1, c);
  }
  if (!user.empty()) text += '@';
  return text + host + ":" + std::to_string(server().port()) + "/" + database + "?" + parameters;
}

bool says(const std::string& message, const std::string& part) {
  return message.find(part) != std::string::npos;
}

Environment::Environment(const char* name, const std::string& value) : name_(name) {
  ::setenv(name, value.c_str(), 1);
}

Environment::~Environment() { ::unsetenv(name_); }

void PostgresqlTest::SetUp() {
  if (!test::have_server("postgresql")) return;
  admin_ = std::make_unique<Session>();
  space_ = "t" + Token::random().hex().substr(0, 20);
  init_space(url(), soon()).value();
}

void PostgresqlTest::TearDown() {
  if (!admin_) return;
  admin_->run("SET client_min_messages = warning");
  admin_->run("DROP SCHEMA IF EXISTS " + space_ + " CASCADE");
  if (!user_.empty()) {
    admin_->run("DROP OWNED BY " + user_);
    admin_->run("DROP ROLE " + user_);
  }
}

std::string PostgresqlTest::url(const std::string& more) const {
  return server().admin_url() + "?space=" + space_ + "&strategy=" + strategy() +
         (more.empty() ? "" : "&" + more);
}

std::shared_ptr<Backend> PostgresqlTest::open(const std::string& more) const {
  return open_backend(url(more), soon()).value();
}

Client PostgresqlTest::client(const std::string& app) const { return Client(open(), app); }

std::string PostgresqlTest::acquire_sql(const std::string& name,
                                        const std::string& function) const {
  return "SELECT " + space_ + "." + function + "(ARRAY['" + name +
         "'], ARRAY['w']::\"char\"[], ARRAY[1], (SELECT last_value FROM " + space_ +
         ".config_version), 60000000, 1, gen_random_uuid(), 'raw', 'raw', 0, 'raw', 0, false, "
         "'', '')";
}

std::string PostgresqlTest::begin_sql() const {
  return "BEGIN ISOLATION LEVEL " +
         std::string(strategy() == "advisory" ? "READ COMMITTED" : "SERIALIZABLE");
}

std::int64_t PostgresqlTest::count(const std::string& table) {
  return admin().number("SELECT count(*) FROM " + space() + "." + table);
}

void PostgresqlTest::drop_space() {
  admin().run("SET client_min_messages = warning");
  admin().run("DROP SCHEMA " + space() + " CASCADE");
}

bool PostgresqlTest::somebody_waits(const std::string& part) {
  return eventually([&] {
    return admin().number(
               "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
               "AND pid <> pg_backend_pid() AND query LIKE '%" +
               part + "%'") > 0;
  });
}

Address PostgresqlTest::runtime_user(const std::string& password) {
  user_ = space_ + "_user";
  admin().run("CREATE ROLE " + user_ + " LOGIN PASSWORD '" + password + "'");
  allow(url(), Role::programs, user_, soon()).value();
  return {.user = user_, .password = password, .parameters = "space=" + space_};
}

std::string PostgresqlTest::refused(const std::string& url, Errc code) {
  const auto opened = open_backend(url, soon());
  if (opened) {
    ADD_FAILURE() << "it was opened";
    return {};
  }
  EXPECT_EQ(opened.error().code, code) << opened.error().message;
  EXPECT_EQ(opened.error().message.find('\n'), std::string::npos) << "more than one line";
  return opened.error().message;
}

}  // namespace lockset::postgresql_tests
