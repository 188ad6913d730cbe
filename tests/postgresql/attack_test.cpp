// A database user without any rights on Lockset sets traps for the administrator: nothing of that
// user's ever runs with another account's rights.
#include <thread>
#include <vector>

#include "tests/postgresql/fixture.h"

namespace lockset::postgresql_tests {
namespace {

class Attack : public PostgresqlTest {
 protected:
  void SetUp() override {
    PostgresqlTest::SetUp();
    drop_space();
    mallory_ = space() + "_mallory";
    admin().run("CREATE ROLE " + mallory_ + " LOGIN PASSWORD 'm'");
    admin().run("GRANT CREATE ON DATABASE lockset TO " + mallory_);
  }
  void TearDown() override {
    admin().run("SET client_min_messages = warning");
    admin().run("DROP SCHEMA IF EXISTS " + space() + " CASCADE");
    admin().run("DROP OWNED BY " + mallory_ + " CASCADE");
    admin().run("DROP ROLE " + mallory_);
    PostgresqlTest::TearDown();
  }

  [[nodiscard]] const std::string& mallory() const { return mallory_; }
  [[nodiscard]] Session as_mallory() const {
    return Session(Address{.user = mallory_, .password = "m", .parameters = ""}.url());
  }
  // What a trap does if it runs with enough rights. With too few it does nothing.
  [[nodiscard]] std::string spring() const {
    return "BEGIN ALTER ROLE " + mallory_ + " SUPERUSER; EXCEPTION WHEN OTHERS THEN NULL; END";
  }
  [[nodiscard]] std::string trap(const std::string& signature, const std::string& returns,
                                 const std::string& answer = "") const {
    return "CREATE FUNCTION " + space() + "." + signature + " RETURNS " + returns +
           " LANGUAGE plpgsql AS $$ BEGIN " + spring() + "; RETURN " + answer + "; END $$";
  }
  // Matches a call with a plain 0 better than a function that takes a bigint.
  void set_wake_traps(Session& session) const {
    for (const char* version : {"v1", "v2"}) {
      session.run(trap("wake_" + std::string(version) + "(text, integer, \"char\")", "void"));
    }
  }
  bool mallory_rules() {
    return admin().text("SELECT rolsuper FROM pg_roles WHERE rolname = '" + mallory_ + "'") == "t";
  }
  // A release for which somebody waits.
  void contend() {
    Client holder = client();
    const Stamp stamp = holder.take({write("a")}).stamp;
    Client waiter = client("waiter");
    const Busy busy = waiter.meet_busy({write("a")}, {.will_wait = true});
    EXPECT_TRUE(holder.release(stamp));
    EXPECT_TRUE(waiter.release(waiter.take({write("a")}, {.ticket = busy.ticket}).stamp));
  }
  // Everything that the administrator can still do now.
  void work_as_administrator() {
    if (!open_backend(url(), soon())) return;
    contend();
    Client c = client();
    c.set_permits("a", Mode::read, 3);
    EXPECT_TRUE(c.backend().sweep(soon()));
  }
  // init refuses; returns the line.
  std::string init_is_refused() {
    const Status status = init_space(url(), soon());
    if (status) {
      ADD_FAILURE() << "it was made";
      return {};
    }
    EXPECT_EQ(status.error().code, Errc::misconfigured) << status.error().message;
    EXPECT_EQ(status.error().message.find('\n'), std::string::npos) << status.error().message;
    return status.error().message;
  }

 private:
  std::string mallory_;
};

// The schema is made first, with a function in it that matches one of our calls better than ours
TEST_P(Attack, WithASchemaMadeFirst) {
  {
    Session m = as_mallory();
    m.run("CREATE SCHEMA " + space());
    set_wake_traps(m);
    m.run("GRANT ALL ON SCHEMA " + space() + " TO PUBLIC");
  }
  static_cast<void>(init_space(url(), soon()).ok());
  work_as_administrator();
  EXPECT_FALSE(mallory_rules()) << "any user of the database becomes superuser";
  const std::string message = init_is_refused();
  EXPECT_TRUE(says(message, mallory())) << message;
  EXPECT_TRUE(says(message, "space=")) << message;
}

// The functions that are called before anything is known about the space
TEST_P(Attack, WithTrapsForWhoeverLooks) {
  {
    Session m = as_mallory();
    m.run("CREATE SCHEMA " + space());
    m.run(trap("about()", "text", "concat_ws(chr(31), 2, '" + strategy() + "', '')"));
    m.run(trap("look()", "integer", "1"));
    m.run("CREATE VIEW " + space() + ".meta AS SELECT " + space() +
          ".look() AS schema_version, 'advisory' AS strategy, '' AS script");
    m.run("GRANT ALL ON SCHEMA " + space() + " TO PUBLIC");
    m.run("GRANT ALL ON ALL TABLES IN SCHEMA " + space() + " TO PUBLIC");
  }
  const std::vector<Finding> findings = examine_space(url(), soon()).value();
  EXPECT_FALSE(mallory_rules()) << "by doctor";
  bool told = false;
  for (const Finding& each : findings) {
    told = told || (each.level == Finding::Level::unsafe && says(each.text, mallory()));
  }
  EXPECT_TRUE(told);
  EXPECT_TRUE(says(refused(url(), Errc::misconfigured), mallory()));
  EXPECT_FALSE(mallory_rules()) << "by opening it";
  EXPECT_TRUE(says(init_is_refused(), mallory()));
  EXPECT_FALSE(mallory_rules()) << "by init";
}

// A schema that belongs to the administrator, but in which others could create something
TEST_P(Attack, WithSomethingInTheAdministratorsSchema) {
  admin().run("CREATE SCHEMA " + space());
  admin().run("GRANT CREATE, USAGE ON SCHEMA " + space() + " TO " + mallory());
  const std::string function = trap("f(text)", "text", "$1");
  const std::string type = "CREATE TYPE @.t AS (x int)";
  const std::vector<std::pair<std::string, std::string>> things{
      {function, "FUNCTION @.f(text)"},
      {trap("wake_v2(text, integer, \"char\")", "void"), "FUNCTION @.wake_v2"},
      {trap("about()", "text", "''"), "FUNCTION @.about"},
      {"CREATE PROCEDURE @.p() LANGUAGE sql AS ''", "PROCEDURE @.p"},
      {"CREATE AGGREGATE @.g(int) (SFUNC = int4pl, STYPE = int)", "AGGREGATE @.g(int)"},
      {"CREATE TABLE @.locks (name text)", "TABLE @.locks"},
      {"CREATE TABLE @.mine (name text)", "TABLE @.mine"},
      {"CREATE VIEW @.meta AS SELECT 1 AS schema_version", "VIEW @.meta"},
      {"CREATE MATERIALIZED VIEW @.m AS SELECT 1", "MATERIALIZED VIEW @.m"},
      {"CREATE SEQUENCE @.last_wait", "SEQUENCE @.last_wait"},
      {type, "TYPE @.t"},
      {"CREATE TYPE @.e AS ENUM ('a')", "TYPE @.e"},
      {"CREATE DOMAIN @.d AS int", "DOMAIN @.d"},
      {"CREATE OPERATOR @.=== (FUNCTION = int4eq, LEFTARG = int, RIGHTARG = int)",
       "OPERATOR @.=== (int, int)"},
      {"CREATE COLLATION @.c (LOCALE = 'C')", "COLLATION @.c"},
      {"CREATE CONVERSION @.v FOR 'LATIN1' TO 'UTF8' FROM iso8859_1_to_utf8", "CONVERSION @.v"},
      {"CREATE TEXT SEARCH CONFIGURATION @.s (COPY = english)", "TEXT SEARCH CONFIGURATION @.s"},
  };
  const auto here = [&](std::string sql) {
    for (std::size_t at = 0; (at = sql.find("@.", at)) != std::string::npos;) {
      sql.replace(at, 1, space());
    }
    return sql;
  };
  Session m = as_mallory();
  m.run("SET client_min_messages = warning");
  for (const auto& [make, what] : things) {
    m.run(here(make));
    const std::string message = init_is_refused();
    EXPECT_TRUE(says(message, "did not make")) << message;
    EXPECT_FALSE(mallory_rules()) << make;
    m.run(here("DROP " + what));
  }
  // init removes the right itself, whoever has it.
  admin().run("GRANT CREATE ON SCHEMA " + space() + " TO PUBLIC");
  ASSERT_TRUE(init_space(url(), soon()));
  for (const auto& [make, what] : things) {
    EXPECT_THROW(m.run(here(make)), pqxx::insufficient_privilege) << make;
  }
  work_as_administrator();
  EXPECT_FALSE(mallory_rules());
}

// Objects of a trusted extension belong to a superuser, whoever installed it.
TEST_P(Attack, WithAnExtension) {
  admin().run("CREATE SCHEMA " + space());
  admin().run("GRANT CREATE, USAGE ON SCHEMA " + space() + " TO " + mallory());
  as_mallory().run("CREATE EXTENSION fuzzystrmatch SCHEMA " + space());
  EXPECT_TRUE(says(init_is_refused(), "did not make"));
  as_mallory().run("DROP EXTENSION fuzzystrmatch");
  EXPECT_TRUE(init_space(url(), soon()));
}

// Made, but not yet committed when init looks
TEST_P(Attack, WithAFunctionUnderWay) {
  admin().run("CREATE SCHEMA " + space());
  admin().run("GRANT CREATE, USAGE ON SCHEMA " + space() + " TO " + mallory());
  Session m = as_mallory();
  m.run("BEGIN");
  set_wake_traps(m);
  ASSERT_TRUE(init_space(url(), soon()));
  m.run("COMMIT");
  work_as_administrator();
  EXPECT_FALSE(mallory_rules());
  EXPECT_TRUE(says(init_is_refused(), "wake_v")) << "the next look finds it";
  for (const Finding& each : examine_space(url(), soon()).value()) {
    if (each.subject == "rights") {
      EXPECT_EQ(each.level, Finding::Level::warning) << each.text;
    }
  }
}

// With the name of one of ours: the first one to make it owns it.
TEST_P(Attack, WithTheSameFunctionUnderWay) {
  admin().run("CREATE SCHEMA " + space());
  admin().run("GRANT CREATE, USAGE ON SCHEMA " + space() + " TO " + mallory());
  Session m = as_mallory();
  m.run("BEGIN");
  m.run(trap("wake_v2(text, bigint, \"char\")", "void"));
  Status made;
  std::thread thread([&] { made = init_space(url(), soon()); });
  EXPECT_TRUE(somebody_waits("SET LOCAL search_path"));
  m.run("COMMIT");
  thread.join();
  EXPECT_FALSE(made);
  EXPECT_FALSE(open_backend(url(), soon())) << "half a space";
  EXPECT_FALSE(mallory_rules());
}

// Rights on objects that will be made
TEST_P(Attack, WithDefaultPrivileges) {
  const std::string who = " TO " + mallory();
  const std::vector<std::string> defaults{"ALL ON TABLES", "ALL ON SEQUENCES", "ALL ON FUNCTIONS",
                                          "ALL ON SCHEMAS"};
  for (const std::string& each : defaults) {
    admin().run("ALTER DEFAULT PRIVILEGES GRANT " + each + who);
  }
  const Status made = init_space(url(), soon());
  for (const std::string& each : defaults) {
    admin().run("ALTER DEFAULT PRIVILEGES REVOKE " + each + " FROM " + mallory());
  }
  ASSERT_TRUE(made);
  const auto may = [&](const std::string& sql) {
    return admin().text("SELECT coalesce(string_agg(x, ' '), '') FROM (" + sql + ") s(x)");
  };
  const std::string of = "'" + space() + "'::regnamespace";
  EXPECT_EQ(may("SELECT proname::text FROM pg_proc WHERE proname <> 'about' AND pronamespace = " +
                of + " AND has_function_privilege('" + mallory() + "', oid, 'EXECUTE')"),
            "");
  EXPECT_EQ(may("SELECT relname::text FROM pg_class WHERE relkind = 'r' AND relnamespace = " + of +
                " AND has_table_privilege('" + mallory() +
                "', oid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')"),
            "");
  EXPECT_EQ(may("SELECT relname::text FROM pg_class WHERE relnamespace = " + of +
                " AND CASE WHEN relkind = 'S' THEN has_sequence_privilege('" + mallory() +
                "', oid, 'USAGE, UPDATE') END"),
            "");
  EXPECT_EQ(
      admin().text("SELECT has_schema_privilege('" + mallory() + "', '" + space() + "', 'CREATE')"),
      "f");
}

// A trigger runs with the rights of the account that changes the table: the owner of our functions
TEST_P(Attack, WithATrigger) {
  ASSERT_TRUE(init_space(url(), soon()));
  admin().run("GRANT USAGE ON SCHEMA " + space() + " TO " + mallory());
  admin().run("GRANT ALL ON ALL TABLES IN SCHEMA " + space() + " TO " + mallory());
  admin().run("GRANT UPDATE (label) ON " + space() + ".locks TO " + mallory());
  Session m = as_mallory();
  m.run("SET client_min_messages = warning");
  m.run("CREATE SCHEMA " + mallory());
  m.run("CREATE FUNCTION " + mallory() + ".trap() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN " +
        spring() + "; RETURN NULL; END $$");
  const std::string trigger = "CREATE TRIGGER z AFTER DELETE ON " + space() +
                              ".locks FOR EACH ROW EXECUTE FUNCTION " + mallory() + ".trap()";
  m.run(trigger);
  const std::string message = init_is_refused();
  EXPECT_TRUE(says(message, "trigger z")) << message;
  EXPECT_FALSE(mallory_rules());
  // One that is under way is waited for.
  admin().run("DROP TRIGGER z ON " + space() + ".locks");
  m.run("BEGIN");
  m.run(trigger);
  Status looked;
  std::thread thread([&] { looked = init_space(url(), soon()); });
  EXPECT_TRUE(somebody_waits("LOCK TABLE"));
  m.run("COMMIT");
  thread.join();
  EXPECT_FALSE(looked);
  admin().run("DROP TRIGGER z ON " + space() + ".locks");
  // init removes the rights, except for reading, which is harmless.
  ASSERT_TRUE(init_space(url(), soon()));
  EXPECT_THROW(m.run(trigger), pqxx::insufficient_privilege);
  EXPECT_THROW(m.run("UPDATE " + space() + ".locks SET label = ''"), pqxx::insufficient_privilege);
  EXPECT_THROW(m.run("SELECT setval('" + space() + ".stamps', 1)"), pqxx::insufficient_privilege);
  EXPECT_EQ(m.number("SELECT count(*) FROM " + space() + ".locks"), 0);
  work_as_administrator();
  EXPECT_FALSE(mallory_rules());
  m.run("DROP SCHEMA " + mallory() + " CASCADE");
}

// The administrator does not upgrade a space that a plain user made: that user decides what its
// functions do.
TEST_P(Attack, WithAnOlderSpaceOfHisOwn) {
  const std::string his =
      Address{.user = mallory(), .password = "m", .parameters = "space=" + space()}.url();
  ASSERT_TRUE(init_space(his, soon()));
  {
    Session m = as_mallory();
    set_wake_traps(m);
    m.run("UPDATE " + space() + ".meta SET schema_version = 1, script = 'older'");
  }
  EXPECT_TRUE(says(init_is_refused(), mallory()));
  EXPECT_FALSE(mallory_rules());
  // The user who made it gets a message about it.
  const Status status = init_space(his, soon());
  ASSERT_FALSE(status);
  EXPECT_TRUE(says(status.error().message, "wake_v2")) << status.error().message;
  as_mallory().run("DROP FUNCTION " + space() + ".wake_v2(text, integer, \"char\")");
  ASSERT_TRUE(init_space(his, soon()));
  EXPECT_TRUE(Client(open_backend(his, soon()).value()).take({write("a")}).stamp);
}

// Names of the server's own objects are looked up in the server's own schema, whatever the
// administrator's search path is.
TEST_P(Attack, WithTheAdministratorsSearchPath) {
  {
    Session m = as_mallory();
    m.run("CREATE SCHEMA " + mallory());
    const auto his = [&](const std::string& signature, const std::string& returns,
                         const std::string& answer) {
      m.run("CREATE FUNCTION " + mallory() + "." + signature + " RETURNS " + returns +
            " LANGUAGE plpgsql AS $$ BEGIN " + spring() + "; RETURN " + answer + "; END $$");
    };
    his("pg_backend_pid()", "integer", "pg_catalog.pg_backend_pid()");
    his("current_setting(text)", "text", "pg_catalog.current_setting($1)");
    his("set_config(text, text, boolean)", "text", "pg_catalog.set_config($1, $2, $3)");
    his("pg_advisory_xact_lock(integer, integer)", "void", "");
    his("pg_is_in_recovery()", "boolean", "false");
    his("clock_timestamp()", "timestamptz", "pg_catalog.clock_timestamp()");
    his("has_function_privilege(oid, text)", "boolean", "true");
    his("same(name, name)", "boolean", "$1 OPERATOR(pg_catalog.=) $2");
    m.run("CREATE OPERATOR " + mallory() + ".= (FUNCTION = " + mallory() +
          ".same, LEFTARG = name, RIGHTARG = name)");
    m.run("GRANT USAGE ON SCHEMA " + mallory() + " TO PUBLIC");
  }
  admin().run("ALTER ROLE lockset_admin SET search_path = " + mallory() + ", pg_catalog");
  const AtEnd reset([&] { admin().run("ALTER ROLE lockset_admin RESET search_path"); });
  ASSERT_TRUE(init_space(url(), soon()));
  EXPECT_FALSE(mallory_rules()) << "by init";
  EXPECT_TRUE(examine_space(url(), soon()));
  EXPECT_FALSE(mallory_rules()) << "by doctor";
  ASSERT_TRUE(allow(url(), Role::programs, mallory(), soon()));
  EXPECT_FALSE(mallory_rules()) << "by a grant";
  work_as_administrator();
  EXPECT_FALSE(mallory_rules()) << "by using it";
}

// A program controls its session: what it puts before the server's own names is not found by our
// functions, which run as their owner.
TEST_P(Attack, WithAProgramsSession) {
  ASSERT_TRUE(init_space(url(), soon()));
  ASSERT_TRUE(allow(url(), Role::programs, mallory(), soon()));
  Session m = as_mallory();
  m.run("CREATE TEMP TABLE locks (LIKE pg_class)");
  m.run("CREATE TEMP TABLE meta (x int)");
  m.run("CREATE TYPE pg_temp.timestamptz AS (x int)");
  m.run("CREATE SCHEMA " + mallory());
  m.run("CREATE FUNCTION " + mallory() +
        ".clock_timestamp() RETURNS timestamptz LANGUAGE plpgsql AS $$ BEGIN " + spring() +
        "; RETURN pg_catalog.clock_timestamp(); END $$");
  m.run("SET search_path = pg_temp, " + mallory() + ", pg_catalog");
  const std::string version = admin().text("SELECT last_value FROM " + space() + ".config_version");
  const auto begin = [&] { m.run(begin_sql()); };
  if (strategy() == "serializable") m.run("SELECT " + space() + ".know_v2(ARRAY['a'])");
  begin();
  std::string sql = acquire_sql("a");
  const std::string look = "(SELECT last_value FROM " + space() + ".config_version)";
  sql.replace(sql.find(look), look.size(), version);
  EXPECT_EQ(m.text(sql).front(), 'G');
  m.run("COMMIT");
  m.run("SELECT * FROM " + space() + ".sweep_v2(0, '')");
  EXPECT_FALSE(mallory_rules());
  m.run("DROP SCHEMA " + mallory() + " CASCADE");
}

LOCKSET_POSTGRESQL_SUITE(Attack);

}  // namespace
}  // namespace lockset::postgresql_tests
