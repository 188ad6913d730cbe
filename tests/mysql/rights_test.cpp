// Two roles, given procedure by procedure: programs lock and look; operators may also break and
// steer.
#include "tests/mysql/fixture.h"

namespace lockset::mysql_tests {
namespace {

class Rights : public MysqlTest {
 protected:
  Address program() { return runtime_user(); }
  Address operators() { return runtime_user("open-sesame", "", Role::operators); }

  // Everything that a program does.
  static void works_as_a_program(const std::shared_ptr<Backend>& backend) {
    Client mine(backend, "app");
    EXPECT_TRUE(mine.release(mine.take({write("a")}).stamp));
    const Token token = Token::random();
    const Stamp set = mine.take({write("a"), read("b")}, {.token = token}).stamp;
    EXPECT_EQ(mine.resolve(token)->stamp, set);
    EXPECT_TRUE(mine.renew(set, 1min));
    EXPECT_TRUE(mine.make_permanent(set));
    const Busy busy = mine.meet_busy({write("b")}, {.will_wait = true});
    EXPECT_TRUE(backend->await_change(*busy.ticket, BootClock::now() + 50ms, {}));
    EXPECT_EQ(mine.inspect().waiters.size(), 1U);
    backend->end_wait(*busy.ticket, soon());
    EXPECT_EQ(mine.holds().size(), 1U);
    EXPECT_TRUE(mine.release(set));
    const Stamp epoch = mine.take({write("@app:app")}).stamp;
    EXPECT_TRUE(backend->reclaim("app", epoch.value, soon()));
    EXPECT_TRUE(mine.release(epoch));
    mine.reload();
    EXPECT_TRUE(backend->sweep(soon()));
  }

  static void works_as_an_operator(const std::shared_ptr<Backend>& backend) {
    Client mine(backend, "ops");
    EXPECT_TRUE(mine.break_hold(mine.take({write("x"), write("y")}).stamp));
    EXPECT_TRUE(mine.break_hold(mine.take({write("x")}).stamp));
    EXPECT_FALSE(mine.break_hold({12345}));
    mine.set_permits("p", Mode::read, 3);
    mine.change(SetMaxLease{5min});
    mine.change(SetMaxOvertakes{5});
    EXPECT_EQ(mine.config().max_overtakes, 5U);
    mine.change(RaiseStampBase{{7}});
    mine.change(SetMigrationPhase{0, mine.config().version});
  }

  // Each operators' call, made by a program: refused with a line that says what to do, nothing
  // changes, and the connection still works.
  void is_kept_from_steering(const std::shared_ptr<Backend>& backend, const std::string& user) {
    Client holder = client("holder");
    const Stamp one = holder.take({write("one")}).stamp;
    const Stamp set = holder.take({write("two"), write("three")}).stamp;
    const SpaceConfig before = holder.config();
    const auto refused = [&](const auto& result) {
      ASSERT_FALSE(result);
      const std::string message = checked(result.error(), Errc::misconfigured);
      EXPECT_TRUE(says(message, "user '" + user + "' may not change permits or break holds"))
          << message;
      EXPECT_TRUE(says(message, "lockset init --operator " + user + " (")) << message;
    };
    refused(backend->break_hold(one, soon()));
    refused(backend->break_hold(set, soon()));
    for (const ConfigChange& change :
         {ConfigChange(SetPermits{"*", Mode::read, 1000}), ConfigChange(SetMaxLease{1h}),
          ConfigChange(SetMaxOvertakes{0}), ConfigChange(SetMigrationPhase{18}),
          ConfigChange(RaiseStampBase{{1'000'000}})}) {
      refused(backend->change_config(change, soon()));
    }
    holder.reload();
    EXPECT_EQ(holder.config(), before);
    EXPECT_TRUE(holder.is_live(one));
    EXPECT_TRUE(holder.is_live(set));
    EXPECT_TRUE(backend->load_config(soon()));
    EXPECT_TRUE(holder.release(one));
    EXPECT_TRUE(holder.release(set));
  }

  const Finding& finding(const std::vector<Finding>& all, const std::string& subject) {
    for (const Finding& each : all) {
      if (each.subject == subject) return each;
    }
    static const Finding none{Finding::Level::unsafe, "", "not found"};
    return none;
  }
};

TEST_P(Rights, AProgramLocksAndLooks) {
  const Address address = program();
  const std::shared_ptr<Backend> backend = open_backend(url(address), soon()).value();
  works_as_a_program(backend);
  is_kept_from_steering(backend, address.user);
  works_as_a_program(backend);
}

TEST_P(Rights, AnOperatorDoesAllOfThatAndSteers) {
  const std::shared_ptr<Backend> backend = open_backend(url(operators()), soon()).value();
  works_as_a_program(backend);
  works_as_an_operator(backend);
}

// --program after --operator takes rights away, --operator after --program gives them.
TEST_P(Rights, ARoleIsExchanged) {
  const Address address = operators();
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(allow(url(), Role::programs, address.user, soon()));
    kill_sessions_of(address.user);
    const std::shared_ptr<Backend> backend = open_backend(url(address), soon()).value();
    works_as_a_program(backend);
    is_kept_from_steering(backend, address.user);
    ASSERT_TRUE(allow(url(), Role::operators, address.user, soon()));
    kill_sessions_of(address.user);
    works_as_an_operator(open_backend(url(address), soon()).value());
    ASSERT_TRUE(allow(url(), Role::operators, address.user, soon())) << "twice";
  }
}

// Making a procedure again removes the rights on it.
TEST_P(Rights, StayWhenInitMakesTheProceduresAnew) {
  const Address app = program();
  const Address ops = operators();
  const Address gone = program();
  admin().rows("DROP USER " + gone.user + "@'%'");
  for (const std::string change : {"procedures = 'older'", "schema_version = 1"}) {
    admin().rows("UPDATE " + table("_space") + " SET " + change);
    // Spaces of older versions lack these.
    for (const char* const rest : {"_waiters", "_waiter_names", "_traces"}) {
      admin().rows("DROP TABLE " + table(rest));
    }
    for (const char* const rest : {"_wake", "_park", "_end_wait", "_waiting", "_release_now"}) {
      admin().rows("DROP PROCEDURE " + table(rest));
    }
    ASSERT_TRUE(init_space(url(), soon()));
    kill_sessions_of(app.user);
    kill_sessions_of(ops.user);
    const std::shared_ptr<Backend> backend = open_backend(url(app), soon()).value();
    works_as_a_program(backend);
    is_kept_from_steering(backend, app.user);
    works_as_an_operator(open_backend(url(ops), soon()).value());
  }
  EXPECT_EQ(admin().number("SELECT COUNT(*) FROM " + table("_accounts")), 2);
}

// An account that can't give the rights again must not take them away.
TEST_P(Rights, InitBySomebodyWhoMayNotGiveThemChangesNothing) {
  Address maker = program();
  admin().rows(
      "GRANT CREATE, CREATE ROUTINE, ALTER ROUTINE, EXECUTE, SELECT, INSERT, UPDATE, DELETE "
      "ON lockset.* TO " +
      maker.user + "@'%'");
  const std::string space_of_its_own = space() + "m";
  maker.parameters = "space=" + space_of_its_own;
  ASSERT_TRUE(init_space(url(maker), soon()));
  Address app = program();
  app.parameters = maker.parameters;
  ASSERT_TRUE(
      allow(server().admin_url() + "?" + maker.parameters, Role::programs, app.user, soon()));
  admin().rows("UPDATE " + space_of_its_own + "_space SET procedures = 'older'");
  const Status made = init_space(url(maker), soon());
  ASSERT_FALSE(made);
  EXPECT_TRUE(says(checked(made.error(), Errc::misconfigured), "GRANT OPTION"))
      << made.error().message;
  EXPECT_EQ(RawMysql(url(app)).code_of("CALL " + space_of_its_own + "_definer()"), 0);
  admin().rows("GRANT EXECUTE ON lockset.* TO " + maker.user + "@'%' WITH GRANT OPTION");
  const Status again = init_space(url(maker), soon());
  ASSERT_TRUE(again) << again.error().message;
  works_as_a_program(open_backend(url(app), soon()).value());
}

TEST_P(Rights, TheScriptGivesTheSame) {
  const auto run = [&](const std::string& script) {
    const auto person = session();
    for (std::size_t at = 0; at < script.size();) {
      const std::size_t end = script.find('\n', at);
      const std::string line = script.substr(at, end - at);
      at = end + 1;
      if (!line.starts_with("--")) person->rows(line.substr(0, line.size() - 1));
    }
  };
  const std::string name = "u" + Token::random().hex().substr(0, 20);
  admin().rows("CREATE USER " + name + "@'127.0.0.%' IDENTIFIED BY 'open-sesame'");
  const std::string account = name + "@127.0.0.%";
  const Address address{.user = name,
                        .password = "open-sesame",
                        .parameters = "space=" + space() + "&strategy=" + strategy()};
  for (int twice = 0; twice < 2; ++twice) {
    run(rights_script(url(), Role::operators, account).value());
    kill_sessions_of(name);
    works_as_an_operator(open_backend(url(address), soon()).value());
    run(rights_script(url(), Role::programs, account).value());
    kill_sessions_of(name);
    const std::shared_ptr<Backend> backend = open_backend(url(address), soon()).value();
    works_as_a_program(backend);
    const Result<bool> broken = backend->break_hold(Stamp{1}, soon());
    ASSERT_FALSE(broken);
    EXPECT_TRUE(
        says(broken.error().message, "lockset init --operator \"'" + name + "'@'127.0.0.%'\""))
        << broken.error().message;
  }
}

// --- accounts that can't have a role ---

TEST_P(Rights, AnAccountThatIsNotThereIsNotMade) {
  for (const Role role : {Role::programs, Role::operators}) {
    const Status status = allow(url(), role, "nobody_like_that", soon());
    ASSERT_FALSE(status);
    EXPECT_TRUE(
        says(checked(status.error(), Errc::misconfigured), "no account 'nobody_like_that'@'%'"))
        << status.error().message;
  }
  EXPECT_EQ(admin().number("SELECT COUNT(*) FROM mysql.user WHERE user = 'nobody_like_that'"), 0);
  EXPECT_EQ(admin().number("SELECT COUNT(*) FROM " + table("_accounts")), 0);
}

TEST_P(Rights, AProgramGivesNobodyRights) {
  const Address app = program();
  const Address other = program();
  for (const Role role : {Role::programs, Role::operators}) {
    const Status status = allow(url(app), role, other.user, soon());
    ASSERT_FALSE(status);
    checked(status.error(), Errc::misconfigured);
  }
  is_kept_from_steering(open_backend(url(other), soon()).value(), other.user);
}

TEST_P(Rights, TheMakerOfTheSpaceIsNoProgram) {
  const Status status = allow(url(), Role::programs, "lockset_admin", soon());
  ASSERT_FALSE(status);
  EXPECT_TRUE(says(checked(status.error(), Errc::misconfigured), "accounts of their own"));
}

// What the page said before there were roles.
TEST_P(Rights, OfTheWholeDatabaseAreAnOperators) {
  const Address address = program();
  admin().rows("GRANT SELECT, EXECUTE ON lockset.* TO " + address.user + "@'%'");
  const Status status = allow(url(), Role::programs, address.user, soon());
  ASSERT_FALSE(status);
  EXPECT_TRUE(says(checked(status.error(), Errc::misconfigured),
                   "REVOKE EXECUTE ON `lockset`.* FROM '" + address.user + "'@'%'"))
      << status.error().message;
  const Finding& found = finding(examine_space(url(address), soon()).value(), "rights");
  EXPECT_EQ(found.level, Finding::Level::warning) << found.text;
  EXPECT_TRUE(says(found.text, "every procedure")) << found.text;
  admin().rows("REVOKE EXECUTE ON lockset.* FROM " + address.user + "@'%'");
  ASSERT_TRUE(allow(url(), Role::programs, address.user, soon()));
}

TEST_P(Rights, DoctorTellsTheRole) {
  const auto role = [&](const std::string& address) {
    const std::vector<Finding> all = examine_space(address, soon()).value();
    const Finding& found = finding(all, "rights");
    EXPECT_EQ(found.level, Finding::Level::good) << found.text;
    return found.text;
  };
  EXPECT_TRUE(says(role(url(program())), "is a program"));
  EXPECT_TRUE(says(role(url(operators())), "is an operator"));
  EXPECT_TRUE(says(role(url()), "owner of the space"));
}

// SEM 20: one that may bypass read_only, and whose rights anybody who makes a view could use.
TEST_P(Rights, DoctorNamesADefinerWithRightsOnTheWholeServer) {
  const Address app = program();
  for (const std::string& address : {url(), url(app)}) {
    const std::vector<Finding> all = examine_space(address, soon()).value();
    const Finding& found = finding(all, "definer");
    EXPECT_EQ(found.level, Finding::Level::warning) << found.text;
    EXPECT_TRUE(says(found.text, "'lockset_admin'@'%'")) << found.text;
    EXPECT_TRUE(says(found.text, "read-only")) << found.text;
  }
  Address maker = program();
  admin().rows("GRANT ALL PRIVILEGES ON lockset.* TO " + maker.user + "@'%' WITH GRANT OPTION");
  maker.parameters = "space=" + space() + "m";
  ASSERT_TRUE(init_space(url(maker), soon()));
  const std::vector<Finding> all = examine_space(url(maker), soon()).value();
  EXPECT_EQ(finding(all, "definer").level, Finding::Level::good) << finding(all, "definer").text;
}

// --- without the backend ---

TEST_P(Rights, ReachNoTablePastTheProcedures) {
  Client holder = client();
  holder.take({write("a"), write("b")});
  for (const Address& address : {program(), operators()}) {
    RawMysql user(url(address));
    for (const char* const rest : {"_locks", "_names", "_lock_permits", "_epochs", "_space",
                                   "_accounts", "_waiters", "_waiter_names", "_traces"}) {
      const std::string name = table(rest);
      EXPECT_EQ(user.code_of("DELETE FROM " + name), 1142) << rest;
      EXPECT_EQ(user.code_of("INSERT INTO " + name + " VALUES ()"), 1142) << rest;
      EXPECT_EQ(user.code_of("DROP TABLE " + name), 1142) << rest;
      EXPECT_EQ(user.code_of("ALTER TABLE " + name + " COMMENT 'mine'"), 1142) << rest;
      EXPECT_NE(
          user.code_of("CREATE TRIGGER mine BEFORE INSERT ON " + name + " FOR EACH ROW SET @a = 1"),
          0)
          << rest;
    }
    EXPECT_EQ(user.code_of("UPDATE " + table("_locks") + " SET expires = NULL"), 1142);
    // A user who may change rows (or, on MariaDB, read them) can lock them: that delays others.
    EXPECT_EQ(user.code_of("SELECT low FROM " + table("_names") + " FOR UPDATE"), 1142);
    EXPECT_NE(user.code_of("DROP PROCEDURE " + table("_release")), 0);
    EXPECT_NE(user.code_of("CREATE PROCEDURE mine() SELECT 1"), 0);
    EXPECT_NE(user.code_of("CREATE VIEW mine AS SELECT 1"), 0);
    // A part of other procedures, which would take a hold apart.
    EXPECT_EQ(user.code_of("CALL " + table("_end_rest") + "(1)"), 1370);
    // The same for the line of waiters.
    EXPECT_EQ(user.code_of("CALL " + table("_leave_line") + "(1)"), 1370);
    EXPECT_EQ(user.code_of("CALL " + table("_wake_all") + "()"), 1370);
    // How holds were broken before there was _break.
    EXPECT_EQ(user.code_of("CALL " + table("_release") + "(1, NULL)"), 1318);
  }
  EXPECT_EQ(admin().number("SELECT COUNT(*) FROM " + table("_locks")), 2);
}

// A program from before schema 2 that is connected while the space is upgraded.
TEST_P(Rights, AReleaseWithoutAnApplicationEndsNothing) {
  Client holder = client();
  const Stamp stamp = holder.take({write("a")}).stamp;
  EXPECT_EQ(session()->code_of("CALL " + table("_release") + "(" + std::to_string(stamp.value) +
                               ", NULL)"),
            1318);
  EXPECT_TRUE(holder.is_live(stamp));
}

LOCKSET_MYSQL_SERVERS(Rights);

}  // namespace
}  // namespace lockset::mysql_tests
