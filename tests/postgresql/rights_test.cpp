// Programs, operators and others: what each may do, and the error message for the others.
#include <vector>

#include "tests/postgresql/fixture.h"

namespace lockset::postgresql_tests {
namespace {

class Rights : public PostgresqlTest {
 protected:
  // Makes each of the operators' calls; returns its answer.
  static std::vector<Error> try_operators_calls(Client& c, Stamp stamp) {
    std::vector<Error> errors;
    const auto note = [&](const auto& result) {
      errors.push_back(result ? Error{Errc::internal, "it was let do it"} : result.error());
    };
    note(c.backend().break_hold(stamp, soon()));
    const std::vector<ConfigChange> changes{
        SetPermits{"a", Mode::read, 3}, SetMaxLease{1h}, SetMigrationPhase{17, {}},
        SetMigrationPhase{17, c.config().version}, RaiseStampBase{Stamp{1}}};
    for (const ConfigChange& change : changes) note(c.backend().change_config(change, soon()));
    return errors;
  }
  static void expect_no_right_to_operate(Client& c, Stamp stamp, const std::string& user) {
    for (const Error& error : try_operators_calls(c, stamp)) {
      EXPECT_EQ(error.code, Errc::misconfigured) << error.message;
      EXPECT_EQ(error.message.find('\n'), std::string::npos) << error.message;
      EXPECT_TRUE(says(error.message, "\"" + user + "\"")) << error.message;
      EXPECT_TRUE(says(error.message, "lockset init --operator " + user)) << error.message;
    }
  }
  static void work_as_a_program(Client& c) {
    const Grant grant = c.take({write("w"), read("r")});
    EXPECT_TRUE(c.renew(grant.stamp, 2min));
    EXPECT_TRUE(c.make_permanent(grant.stamp));
    const Busy busy = c.meet_busy({write("w")}, {.will_wait = true});
    EXPECT_EQ(c.inspect().holds.size(), 1U);
    EXPECT_EQ(c.inspect().waiters.size(), 1U);
    c.backend().end_wait(*busy.ticket, soon());
    EXPECT_TRUE(c.release(grant.stamp));
    EXPECT_FALSE(c.resolve(Token::random()));
    c.reload();
    EXPECT_TRUE(c.backend().sweep(soon()));
    EXPECT_FALSE(c.observe_one("w").being_written);
    EXPECT_TRUE(c.backend().sweep_traces(Duration::zero(), soon()));
    const Stamp app = c.take({write("@app:app")}).stamp;
    const auto reclaimed = c.backend().reclaim("app", app.value, soon());
    EXPECT_TRUE(reclaimed) << reclaimed.error().message;
    c.reload();
    EXPECT_TRUE(c.release(app));
  }
  // The server's view: who may call what.
  std::string granted() {
    return admin().text(
        "SELECT concat((SELECT string_agg(proname || coalesce(proacl::text, '-'), "
        "' ' ORDER BY proname) FROM pg_proc WHERE pronamespace = '" +
        space() + "'::regnamespace), (SELECT nspacl FROM pg_namespace WHERE nspname = '" + space() +
        "'))");
  }
  std::string everybodys() {
    return admin().text(
        "SELECT coalesce(string_agg(proname, ' ' ORDER BY proname), '') "
        "FROM pg_proc p, aclexplode(coalesce(proacl, acldefault('f', proowner))) a "
        "WHERE a.grantee = 0 AND pronamespace = '" +
        space() + "'::regnamespace");
  }
};

TEST_P(Rights, AProgramDoesItsWorkAndNoMore) {
  const Address address = runtime_user();
  Client c(open_backend(address.url(), soon()).value());
  work_as_a_program(c);
  const Stamp stamp = c.take({write("kept")}).stamp;
  c.reload();
  const SpaceConfig before = c.config();
  expect_no_right_to_operate(c, stamp, address.user);
  // Nothing was applied, and the connection still works.
  c.reload();
  EXPECT_EQ(c.config(), before);
  EXPECT_TRUE(c.is_live(stamp));
  EXPECT_TRUE(c.release(stamp));
}

TEST_P(Rights, AnOperatorMayAll) {
  const Address address = runtime_user();
  ASSERT_TRUE(allow(url(), Role::operators, address.user, soon()));
  Client c(open_backend(address.url(), soon()).value());
  work_as_a_program(c);
  const Stamp stamp = c.take({write("kept")}).stamp;
  EXPECT_TRUE(c.break_hold(stamp));
  c.set_permits("a", Mode::read, 3);
  c.change(SetMaxLease{1h});
  c.change(SetMigrationPhase{17, {}});
  c.change(SetMigrationPhase{0, c.config().version});
  c.change(RaiseStampBase{Stamp{1}});
}

// Also without the backend
TEST_P(Rights, AProgramsSqlIsNotTheOperators) {
  const Address address = runtime_user();
  Client c(open_backend(address.url(), soon()).value());
  const Stamp stamp = c.take({write("a")}).stamp;
  Session raw(address.url().substr(0, address.url().find('?')));
  const std::string of_stamp = std::to_string(stamp.value);
  // A missing application is not every application.
  EXPECT_EQ(raw.text("SELECT " + space() + ".release_v2(" + of_stamp + ", NULL)"), "N");
  for (const std::string& call :
       {"break_v2(" + of_stamp + ")", std::string("next_version_v2()"),
        std::string("wake_all_v2()"), std::string("raise_stamp_v2(9000000000000000000)"),
        std::string("sweep_line_v2()"), std::string("config_rows_v2()"),
        std::string("trace_v2(1, '{a}', '{w}', 'me', now())")}) {
    EXPECT_THROW(raw.run("SELECT " + space() + "." + call), pqxx::insufficient_privilege) << call;
  }
  for (const char* statement :
       {"SELECT * FROM @.locks", "DELETE FROM @.locks", "UPDATE @.meta SET max_lease = 1",
        "SELECT nextval('@.stamps')", "SELECT setval('@.config_version', 1)",
        "CREATE TABLE @.mine (x int)"}) {
    std::string sql = statement;
    sql.replace(sql.find('@'), 1, space());
    EXPECT_THROW(raw.run(sql), pqxx::insufficient_privilege) << sql;
  }
  EXPECT_TRUE(c.release(stamp));
}

TEST_P(Rights, WhoHasNoneIsToldWhatToDo) {
  const Address address = runtime_user();
  admin().run("REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA " + space() + " FROM " + address.user);
  const auto expect_the_remedy = [&](const std::string& message) {
    EXPECT_TRUE(says(message, "\"" + address.user + "\"")) << message;
    EXPECT_TRUE(says(message, "lockset init --program " + address.user)) << message;
  };
  expect_the_remedy(refused(address.url(), Errc::misconfigured));
  admin().run("REVOKE USAGE ON SCHEMA " + space() + " FROM " + address.user);
  expect_the_remedy(refused(address.url(), Errc::misconfigured));
  ASSERT_TRUE(allow(url(), Role::programs, address.user, soon()));
  EXPECT_TRUE(Client(open_backend(address.url(), soon()).value()).take({write("a")}).stamp);
}

// The right to use the schema does not imply trust with all rights.
TEST_P(Rights, EverybodyMayAskForTheVersionAlone) { EXPECT_EQ(everybodys(), "about"); }

TEST_P(Rights, AnOperatorBecomesAProgram) {
  const Address address = runtime_user();
  const std::string as_program = granted();
  ASSERT_TRUE(allow(url(), Role::operators, address.user, soon()));
  Client c(open_backend(address.url(), soon()).value());
  EXPECT_TRUE(c.break_hold(c.take({write("a")}).stamp));
  ASSERT_TRUE(allow(url(), Role::programs, address.user, soon()));
  const Stamp stamp = c.take({write("a")}).stamp;
  expect_no_right_to_operate(c, stamp, address.user);
  EXPECT_TRUE(c.release(stamp));
  EXPECT_EQ(granted(), as_program);
}

// A right that remains in another way is reported, not ignored.
TEST_P(Rights, AProgramThatStaysAnOperatorIsRefused) {
  const Address address = runtime_user();
  const std::string group = space() + "_group";
  admin().run("CREATE ROLE " + group);
  ASSERT_TRUE(allow(url(), Role::operators, group, soon()));
  admin().run("GRANT " + group + " TO " + address.user);
  const std::string before = granted();
  for (const std::string& account : {address.user, std::string("lockset_admin")}) {
    const Status status = allow(url(), Role::programs, account, soon());
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Errc::misconfigured) << status.error().message;
    EXPECT_TRUE(says(status.error().message, account)) << status.error().message;
    EXPECT_EQ(status.error().message.find('\n'), std::string::npos) << status.error().message;
  }
  EXPECT_EQ(granted(), before) << "half of it was done";
  // A role that has the rights is as good as the user's own rights.
  EXPECT_TRUE(Client(open_backend(address.url(), soon()).value())
                  .backend()
                  .change_config(SetPermits{"a", Mode::read, 3}, soon()));
  admin().run("DROP OWNED BY " + group);
  admin().run("DROP ROLE " + group);
}

TEST_P(Rights, AnAccountMayBeCalledAnything) {
  const std::string name = space() + " \"the' $$app$$ @space@ \\";
  std::string quoted = "\"";
  for (const char c : name) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  quoted += '"';
  admin().run("CREATE ROLE " + quoted + " LOGIN PASSWORD 'x'");
  const AtEnd drop([&] {
    admin().run("DROP OWNED BY " + quoted);
    admin().run("DROP ROLE " + quoted);
  });
  for (const Role role : {Role::operators, Role::programs}) {
    const Status status = allow(url(), role, name, soon());
    ASSERT_TRUE(status) << status.error().message;
  }
  EXPECT_TRUE(says(granted(), "the' $$app$$ @space@")) << granted();
  admin().run(rights_script(url(), Role::operators, name).value());
}

TEST_P(Rights, AnAccountThatCantBeMeant) {
  for (const std::string& name : {std::string(), std::string("public"), std::string("none"),
                                  std::string(64, 'a'), std::string("two\nlines")}) {
    for (const Status& status :
         {allow(url(), Role::programs, name, soon()),
          Status(rights_script(url(), Role::programs, name)
                     ? Status()
                     : rights_script(url(), Role::programs, name).error())}) {
      ASSERT_FALSE(status) << name;
      EXPECT_EQ(status.error().code, Errc::invalid) << status.error().message;
    }
  }
  const Status nobody = allow(url(), Role::programs, "nobody_of_that_name", soon());
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, Errc::misconfigured) << nobody.error().message;
  EXPECT_TRUE(says(nobody.error().message, "nobody_of_that_name")) << nobody.error().message;
}

TEST_P(Rights, OnlyTheOwnerGivesThem) {
  const Address address = runtime_user();
  ASSERT_TRUE(allow(url(), Role::operators, address.user, soon()));
  const std::string before = granted();
  const Status status = allow(address.url(), Role::operators, "lockset_admin", soon());
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::misconfigured) << status.error().message;
  EXPECT_TRUE(says(status.error().message, "owner")) << status.error().message;
  EXPECT_EQ(granted(), before);
}

TEST_P(Rights, ThePrintedScriptGivesTheSame) {
  const Address address = runtime_user();
  ASSERT_TRUE(allow(url(), Role::operators, address.user, soon()));
  const std::string by_allow = granted();
  ASSERT_TRUE(allow(url(), Role::programs, address.user, soon()));
  ASSERT_NE(granted(), by_allow);
  admin().run(rights_script(url(), Role::operators, address.user).value());
  EXPECT_EQ(granted(), by_allow);
}

// lockset init again, even if the functions have to be made again or are new
TEST_P(Rights, StayWithTheNextInit) {
  const Address program = runtime_user();
  const std::string boss = space() + "_boss";
  admin().run("CREATE ROLE " + boss);
  const AtEnd drop([&] {
    admin().run("DROP OWNED BY " + boss);
    admin().run("DROP ROLE " + boss);
  });
  ASSERT_TRUE(allow(url(), Role::operators, boss, soon()));
  const std::string before = granted();
  ASSERT_TRUE(init_space(url(), soon()));
  EXPECT_EQ(granted(), before);
  admin().run("DROP FUNCTION " + space() + ".renew_v2, " + space() + ".change_config_at_v2");
  admin().run("UPDATE " + space() + ".meta SET script = 'older'");
  ASSERT_TRUE(init_space(url(), soon()));
  const auto may = [&](const std::string& who, const std::string& what) {
    return admin().text("SELECT has_function_privilege('" + who + "', to_regproc('" + space() +
                        "." + what + "'), 'EXECUTE')") == "t";
  };
  EXPECT_TRUE(may(program.user, "renew_v2"));
  EXPECT_FALSE(may(program.user, "change_config_at_v2"));
  EXPECT_TRUE(may(boss, "renew_v2"));
  EXPECT_TRUE(may(boss, "change_config_at_v2"));
  EXPECT_EQ(everybodys(), "about");
}

// A space of version 1, where everybody with USAGE could do everything: its functions are gone, and
// its users are told.
TEST_P(Rights, AreNotEverybodysAfterAnUpgrade) {
  const Address address = runtime_user();
  Client running(open_backend(address.url(), soon()).value());
  const Stamp stamp = running.take({write("a")}, {.lease = 5min}).stamp;
  for (const char* name : {"acquire", "release", "change_config", "wake"}) {
    admin().run("ALTER FUNCTION " + space() + "." + name + "_v2 RENAME TO " + name + "_v1");
  }
  admin().run("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA " + space() + " TO PUBLIC");
  admin().run("UPDATE " + space() + ".meta SET schema_version = 1, script = 'older'");
  EXPECT_TRUE(says(refused(url(), Errc::misconfigured), "lockset init"));
  ASSERT_TRUE(init_space(url(), soon()));
  EXPECT_EQ(everybodys(), "about");
  EXPECT_EQ(admin().number("SELECT count(*) FROM pg_proc WHERE pronamespace = '" + space() +
                           "'::regnamespace AND proname LIKE '%v1'"),
            0);
  EXPECT_TRUE(client().is_live(stamp)) << "what is held stays";
  EXPECT_TRUE(says(refused(address.url(), Errc::misconfigured), "--program"));
  ASSERT_TRUE(allow(url(), Role::programs, address.user, soon()));
  EXPECT_TRUE(running.release(stamp));
}

TEST_P(Rights, AreToldByDoctor) {
  const Address address = runtime_user();
  const auto finding = [](const std::string& url) {
    for (Finding& each : examine_space(url, soon()).value()) {
      if (each.subject == "rights") return each;
    }
    return Finding{};
  };
  EXPECT_EQ(finding(address.url()).level, Finding::Level::good);
  EXPECT_TRUE(says(finding(address.url()).text, "is a program")) << finding(address.url()).text;
  ASSERT_TRUE(allow(url(), Role::operators, address.user, soon()));
  EXPECT_EQ(finding(address.url()).level, Finding::Level::good);
  EXPECT_TRUE(says(finding(address.url()).text, "is an operator")) << finding(address.url()).text;
  admin().run("REVOKE ALL ON ALL FUNCTIONS IN SCHEMA " + space() + " FROM " + address.user);
  EXPECT_EQ(finding(address.url()).level, Finding::Level::unsafe) << finding(address.url()).text;
  // As after pg_restore --no-acl
  admin().run("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA " + space() + " TO PUBLIC");
  EXPECT_EQ(finding(address.url()).level, Finding::Level::warning) << finding(address.url()).text;
  EXPECT_TRUE(says(finding(address.url()).text, "lockset init")) << finding(address.url()).text;
  ASSERT_TRUE(init_space(url(), soon()));
  EXPECT_EQ(everybodys(), "about");
  EXPECT_TRUE(says(finding(url()).text, "owner")) << finding(url()).text;
}

LOCKSET_POSTGRESQL_SUITE(Rights);

}  // namespace
}  // namespace lockset::postgresql_tests
