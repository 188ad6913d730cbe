// Programs and operators: who may change the configuration and break holds, and what a program
// can't do even with its own scripts.
#include "tests/redis/fixture.h"

namespace lockset::redis_tests {
namespace {

class RedisRoles : public RedisServerTest {
 protected:
  // A space with a program "app" and an operator "ops".
  bool begin() {
    if (!start()) return false;
    given_ = true;
    for (const char* const user : {"app", "ops"}) {
      admin().say({"ACL", "DELUSER", user});
      admin().say({"ACL", "SETUSER", user, "on", ">open-sesame"});
    }
    lockset::allow(url(), Role::programs, "app", soon()).value();
    lockset::allow(url(), Role::operators, "ops", soon()).value();
    return true;
  }
  void TearDown() override {
    if (given_) admin().say({"ACL", "DELUSER", "app", "ops", "t\xc3\xb6ne"});
  }
  [[nodiscard]] std::string url_of(const std::string& user,
                                   const std::string& parameters = {}) const {
    return at({.user = user, .password = "open-sesame", .parameters = parameters});
  }
  [[nodiscard]] Client as(const std::string& user) const {
    return Client(open_backend(url_of(user), soon()).value(), user);
  }
  template <class T>
  static void expect_refused(const Result<T>& result) {
    const std::string message = failed(result, Errc::misconfigured);
    EXPECT_TRUE(says(message, "user 'app' may not change permits or break holds")) << message;
    EXPECT_TRUE(says(message, "lockset init --operator app")) << message;
  }

 private:
  bool given_ = false;
};

TEST_F(RedisRoles, AProgramMayNotChangeTheConfigurationOrBreakHolds) {
  if (!begin()) return;
  Client program = as("app");
  Client other = client("other");
  const Stamp stamp = other.take({write("a"), read("b")}).stamp;
  const Stamp own = program.take({write("own")}).stamp;
  const SpaceConfig before = other.config();
  for (const ConfigChange& change :
       {ConfigChange(SetPermits{"*", Mode::read, 1000}),
        ConfigChange(SetPermits{"a", Mode::write, std::nullopt}), ConfigChange(SetMaxLease{1h}),
        ConfigChange(SetMigrationPhase{3, std::nullopt}),
        ConfigChange(SetMigrationPhase{3, before.version}),
        ConfigChange(RaiseStampBase{Stamp{stamp.value + 1000}})}) {
    expect_refused(program.backend().change_config(change, soon()));
  }
  expect_refused(program.backend().break_hold(stamp, soon()));
  other.reload();
  EXPECT_EQ(other.config(), before);
  EXPECT_TRUE(other.is_live(stamp));
  // The connection is still good.
  EXPECT_TRUE(program.renew(own, 2min));
  EXPECT_TRUE(program.release(own));
  EXPECT_EQ(program.meet_busy({write("a")}).holder, stamp);
  // The same through the public interface.
  Locks locks = lockset::open(url_of("app")).value();
  expect_refused(locks.set_permits("a", Mode::read, 5));
}

TEST_F(RedisRoles, AnOperatorMay) {
  if (!begin()) return;
  Client boss = as("ops");
  Client program = as("app");
  const Stamp stamp = program.take({write("a"), read("b")}).stamp;
  boss.set_permits("*", Mode::read, 1000);
  boss.set_permits("a", Mode::write, 2);
  boss.set_permits("a", Mode::write, std::nullopt);
  boss.change(SetMaxLease{5min});
  boss.change(SetMigrationPhase{0, boss.config().version});
  boss.change(RaiseStampBase{Stamp{stamp.value + 60'000'000}});
  EXPECT_TRUE(boss.break_hold(stamp));
  EXPECT_FALSE(program.renew(stamp, 1min));
  EXPECT_GT(program.take({write("a")}).stamp.value, stamp.value + 60'000'000);
  program.reload();
  EXPECT_EQ(program.config(), boss.config());
  EXPECT_EQ(program.config().max_lease, 5min);
  EXPECT_EQ(program.config().permits_of("x").read, 1000U);
}

// Whatever it runs, other clients see the operators' configuration.
TEST_F(RedisRoles, AProgramCanNotForgeTheConfiguration) {
  if (!begin()) return;
  Client boss = as("ops");
  boss.set_permits("x", Mode::read, 1000);
  Client program = as("app");
  EXPECT_EQ(program.config().permits_of("x").read, 1000U);
  const std::string of_before = std::to_string(program.config().version);
  boss.set_permits("x", Mode::read, 1);
  RawRedis user(url_of("app"));
  const std::string config = "{lockset}:config";
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"HSET", config, "r:x", "1000"},
           {"DEL", config},
           {"EVAL", "return redis.call('HSET', KEYS[1], 'r:x', '1000')", "1", config},
           {"EVAL", "return redis.call('HSET', '{lockset}:config', 'r:x', '1000')", "0"},
           {"EVAL", "return redis.call('DEL', '{lockset}:config')", "0"},
           {"EVAL", "return redis.call('PEXPIRE', '{lockset}:config', '1')", "0"}}) {
    EXPECT_TRUE(user.ask(command).is_error) << command.front();
  }
  // What it can write is not trusted.
  user.say({"HSET", "{lockset}:kept", "version", "9000000000000000", "r:x", "1000"});
  user.say({"HSET", "{lockset}", "max_lease", "3600000000", "phase", "3", "version", of_before});
  Client reader = client("reader");
  EXPECT_EQ(reader.config().permits_of("x").read, 1U);
  EXPECT_EQ(reader.config().max_lease, boss.config().max_lease);
  EXPECT_EQ(reader.config().migration_phase, 0);
  // The earlier copy is older than the last change, whatever the program claims.
  EXPECT_GT(reader.config().version, boss.config().version);
  EXPECT_TRUE(reader.take({read("x")}).stamp);
  const auto second = program.ask_once({read("x")});
  EXPECT_TRUE(second && std::holds_alternative<Stale>(*second)) << test::describe(second);
}

// SEM 6, 7: only programs run when everything is lost
TEST_F(RedisRoles, ProgramsPutTheConfigurationBack) {
  if (!begin()) return;
  Client boss = as("ops");
  boss.set_permits("x", Mode::read, 1000);
  boss.change(SetMaxLease{1s});
  Client program = as("app");
  const Stamp stamp = program.take({write("a")}, {.lease = 1min}).stamp;
  const std::int64_t epoch = program.take({write("@app:app")}).stamp.value;
  EXPECT_TRUE(program.backend().reclaim("app", epoch, soon()));
  program.reload();
  const SpaceConfig before = program.config();
  admin().say({"FLUSHALL"});
  program.reload();
  EXPECT_EQ(program.config(), before);
  Client newcomer = as("app");
  EXPECT_EQ(newcomer.config(), before);
  EXPECT_FALSE(program.is_live(stamp)) << "ended by the reclaim";
  // The next change makes it an operators' configuration again.
  for (int way = 0; way < 2; ++way) {
    if (way == 0) init_space(url_of("ops"), soon()).value();
    if (way == 1) boss.set_permits("y", Mode::read, 2);
    EXPECT_EQ(admin().number({"EXISTS", "{lockset}:kept"}), 0) << way;
    EXPECT_EQ(admin().text({"HGET", "{lockset}:config", "r:x"}), "1000") << way;
    newcomer.reload();
    EXPECT_EQ(newcomer.config().permits_of("x").read, 1000U) << way;
    EXPECT_EQ(newcomer.config().max_lease, 1s) << way;
    if (way == 0) {
      admin().say({"FLUSHALL"});
      program.reload();
    }
  }
  EXPECT_EQ(newcomer.config().permits_of("y").read, 2U);
}

// SEM 7: a dump brings an older configuration back, and a program knows the newer one
TEST_F(RedisRoles, AProgramsCopyDoesNotOutliveARestoredDump) {
  if (!begin()) return;
  Client program = as("app");
  const std::string version = admin().text({"HGET", "{lockset}", "version"});
  const std::string config = admin().text({"DUMP", "{lockset}:config"});
  client("ops").set_permits("x", Mode::read, 1000);
  program.reload();
  const SpaceConfig known = program.config();
  admin().say({"RESTORE", "{lockset}:config", "0", config, "REPLACE"});
  admin().say({"HSET", "{lockset}", "version", version});
  program.reload();
  EXPECT_GT(program.config().version, known.version);
  EXPECT_EQ(program.config().permits_of("x").read, 1U);
}

TEST_F(RedisRoles, ARoleKeepsPasswordsAndOtherRights) {
  if (!begin()) return;
  admin().say({"ACL", "SETUSER", "app", "~mine:*", "%R~read:*", "&mine", "+lpush"});
  init_space(url("space=other"), soon()).value();
  lockset::allow(url("space=other"), Role::programs, "app", soon()).value();
  lockset::allow(url(), Role::operators, "app", soon()).value();
  EXPECT_TRUE(as("app").backend().change_config(SetMaxLease{5min}, soon()).ok());
  lockset::allow(url(), Role::programs, "app", soon()).value();
  lockset::allow(url(), Role::programs, "app", soon()).value();
  expect_refused(as("app").backend().change_config(SetMaxLease{5min}, soon()));
  EXPECT_TRUE(open_backend(url_of("app", "space=other"), soon()).ok());
  RawRedis user(url_of("app"));
  user.say({"LPUSH", "mine:x", "y"});
  EXPECT_TRUE(user.ask({"LPUSH", "read:x", "y"}).is_error);
  EXPECT_EQ(user.text({"GET", "read:x"}), "");
  EXPECT_EQ(user.text({"PUBLISH", "mine", "x"}), "0");
  // A rule from before there were roles.
  admin().say({"ACL", "SETUSER", "app", "resetkeys", "~{lockset}*"});
  lockset::allow(url(), Role::programs, "app", soon()).value();
  expect_refused(as("app").backend().change_config(SetMaxLease{5min}, soon()));
  EXPECT_TRUE(says(finding(url_of("app"), "rights"), "is a program"));
  EXPECT_TRUE(says(finding(url_of("ops"), "rights"), "is an operator"));
  EXPECT_TRUE(says(finding(url(), "rights"), "is an operator"));
}

TEST_F(RedisRoles, WhatCanNotBeGivenIsALine) {
  if (!begin()) return;
  const auto refusal = [&](const std::string& by, Role role, const std::string& user, Errc code) {
    const Status status = lockset::allow(by, role, user, soon());
    if (status) {
      ADD_FAILURE() << "it was given";
      return std::string();
    }
    return checked(status.error(), code);
  };
  EXPECT_TRUE(says(refusal(url(), Role::programs, "nobody", Errc::misconfigured), "'nobody'"));
  EXPECT_FALSE(admin().say({"ACL", "GETUSER", "nobody"}).list.size()) << "it was made";
  EXPECT_TRUE(says(refusal(url_of("ops"), Role::operators, "app", Errc::misconfigured), "ACL"));
  for (const std::string& name : {std::string(), std::string("a b"), std::string("a\nb")}) {
    refusal(url(), Role::programs, name, Errc::invalid);
    failed(lockset::rights_script(url(), Role::programs, name), Errc::invalid);
  }
  admin().say({"ACL", "SETUSER", "app", "~*"});
  EXPECT_TRUE(says(refusal(url(), Role::programs, "app", Errc::misconfigured), "~*"));
  lockset::allow(url(), Role::operators, "app", soon()).value();
  admin().say({"ACL", "SETUSER", "app", "resetkeys", "~{lock*"});
  EXPECT_TRUE(says(refusal(url(), Role::programs, "app", Errc::misconfigured), "{lockset}:config"));
  admin().say({"ACL", "SETUSER", "app", "resetkeys", "(~{lockset}:config +hset)"});
  EXPECT_TRUE(says(refusal(url(), Role::programs, "app", Errc::misconfigured), "selector"));
}

// The printed text does the same as the call.
TEST_F(RedisRoles, TheScriptIsForRedisCli) {
  if (!begin()) return;
  const auto words = [&](Role role, const std::string& user) {
    std::vector<std::string> all;
    std::string script = lockset::rights_script(url(), role, user).value();
    EXPECT_TRUE(script.ends_with("\n"));
    EXPECT_FALSE(says(script, password()));
    for (std::size_t at = 0; at < script.size();) {
      const std::size_t end = script.find_first_of(" \n", at);
      all.push_back(script.substr(at, end - at));
      at = end + 1;
    }
    return all;
  };
  const std::string by_call = admin().say({"ACL", "GETUSER", "app"}).list.at(7).text;
  admin().say(words(Role::operators, "app"));
  EXPECT_TRUE(as("app").backend().change_config(SetMaxLease{5min}, soon()).ok());
  admin().say(words(Role::programs, "app"));
  expect_refused(as("app").backend().change_config(SetMaxLease{5min}, soon()));
  EXPECT_EQ(admin().say({"ACL", "GETUSER", "app"}).list.at(7).text, by_call);
  EXPECT_EQ(words(Role::programs, "t\xc3\xb6ne").at(2), "\"t\\xc3\\xb6ne\"");
}

// A space that an older program made: no hold and no setting is lost.
TEST_F(RedisRoles, AnOlderSpaceIsBroughtUpToDate) {
  if (!begin()) return;
  Client boss = client("ops");
  boss.set_permits("x", Mode::read, 1000);
  boss.change(SetMaxLease{5min});
  const Stamp stamp = boss.take({write("a"), read("x")}, {.lease = 5min}).stamp;
  const std::int64_t epoch = boss.take({write("@app:ops")}).stamp.value;
  boss.reload();
  // As in version 2.
  admin().say({"HSET", "{lockset}", "schema", "2"});
  admin().say({"HDEL", "{lockset}", "born", "line", "mark", "seen"});
  admin().say({"HDEL", "{lockset}:config", "version", "max_lease", "phase", "base"});
  admin().say({"HSET", "{lockset}:config", "e:ops", std::to_string(epoch)});
  admin().say({"DEL", "{lockset}:here", "{lockset}:epochs"});
  EXPECT_TRUE(says(refused(url(), Errc::misconfigured), "version 2"));
  init_space(url(), soon()).value();
  Client after = as("app");
  EXPECT_FALSE(after.inspect().quarantine);
  EXPECT_TRUE(after.is_live(stamp));
  EXPECT_EQ(after.config().version, boss.config().version);
  EXPECT_EQ(after.config().permits, boss.config().permits);
  EXPECT_EQ(after.config().max_lease, 5min);
  EXPECT_EQ(after.config().epochs.at("ops"), epoch);
  EXPECT_EQ(after.meet_busy({write("a")}).holder, stamp);
  EXPECT_TRUE(after.release(after.take({write("b")}).stamp));
}

}  // namespace
}  // namespace lockset::redis_tests
