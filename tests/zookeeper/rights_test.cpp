// Two roles, by the servers' ACLs: operators change the configuration and break holds, programs
// lock. Digests are those of app:app-sesame, ops:ops-sesame and other:other-sesame.
#include "tests/support/finding.h"
#include "tests/support/tcp_proxy.h"
#include "tests/zookeeper/fixture.h"

namespace lockset::zookeeper_tests {
namespace {

const std::string app_id = "app:0EgUT2r4khKWKpdpoYiLVaLag7k=";
const std::string ops_id = "ops:8zfs2JBRZlqPb4drP/E0TAGXffY=";
const std::string other_id = "other:3kJvPTj7AttigDJslrj/hW8QT9g=";

class Rights : public ZookeeperTest {
 protected:
  void SetUp() override {
    ZookeeperTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    path_ = "/r" + Token::random().hex().substr(0, 20);
    init_space(url_as("root"), soon()).value();
    allow(url_as("root"), Role::programs, app_id, soon()).value();
    allow(url_as("root"), Role::operators, ops_id, soon()).value();
    theirs_ = std::make_unique<SpaceView>(hosts(), path_ + "/lockset", "root:root-sesame");
  }
  void TearDown() override {
    if (theirs_) theirs_->raw().remove_tree(path_);
    ZookeeperTest::TearDown();
  }
  static std::string hosts() { return "127.0.0.1:" + std::to_string(server().port()); }
  [[nodiscard]] std::string url_as(const std::string& user) const {
    return url_as(user, server().port());
  }
  [[nodiscard]] std::string url_as(const std::string& user, std::uint16_t port) const {
    const std::string account = user + ":" + user + "-sesame";
    return "zookeeper://" + account + "@127.0.0.1:" + std::to_string(port) + path_;
  }
  [[nodiscard]] Client client_as(const std::string& user, const std::string& app = "app") const {
    return Client(open_backend(url_as(user), soon()).value(), app);
  }
  SpaceView& theirs() { return *theirs_; }
  // The error message of its answer.
  static std::string refuses_permits(Client& client) {
    const auto changed = client.backend().change_config(SetPermits{"a", Mode::read, 1000U}, soon());
    if (changed) {
      ADD_FAILURE() << "changed";
      return {};
    }
    return checked(changed.error(), Errc::misconfigured, "sesame");
  }

 private:
  std::string path_;
  std::unique_ptr<SpaceView> theirs_;
};

TEST_F(Rights, AProgramLocksAndSettlesWhatIsItsOwn) {
  Client first = client_as("app", "one");
  Client second = client_as("app", "two");
  const Stamp stamp = first.take({write("a"), read("b")}).stamp;
  EXPECT_TRUE(first.renew(stamp, 1min));
  const Busy busy = second.meet_busy({write("b")}, {.will_wait = true});
  EXPECT_EQ(busy.holder, stamp);
  EXPECT_EQ(second.inspect().waiters.size(), 1U);
  EXPECT_TRUE(first.release(stamp));
  const Stamp next = second.take({write("b")}, {.ticket = busy.ticket}).stamp;
  EXPECT_TRUE(second.release(next));
  // SEM 12: for its own application, with the epoch that all acquires obey.
  const Stamp old = first.take({write("c")}).stamp;
  const Stamp epoch = first.take({write("@app:one")}).stamp;
  EXPECT_EQ(first.backend().reclaim("one", epoch.value, soon()).value(), 1U);
  EXPECT_FALSE(first.is_live(old));
  EXPECT_TRUE(first.backend().sweep(soon()));
  EXPECT_TRUE(theirs().traces().size() == 2U);
}

TEST_F(Rights, AProgramChangesNoSettingsAndBreaksNothing) {
  Client program = client_as("app", "one");
  Client other = client_as("app", "two");
  const Stamp stamp = other.take({write("a")}).stamp;
  const std::int64_t version = program.config().version;
  const std::string line = refuses_permits(program);
  EXPECT_TRUE(says(line, "user 'app' may not") || says(line, "user \"app\" may not")) << line;
  EXPECT_TRUE(says(line, "lockset init --operator")) << line;
  for (const ConfigChange& change :
       {ConfigChange(SetMaxLease{1h}), ConfigChange(SetMigrationPhase{4, {}}),
        ConfigChange(RaiseStampBase{Stamp{stamp.value + 1'000'000'000}})}) {
    const auto changed = program.backend().change_config(change, soon());
    ASSERT_FALSE(changed);
    checked(changed.error(), Errc::misconfigured, "sesame");
  }
  const auto broken = program.backend().break_hold(stamp, soon());
  ASSERT_FALSE(broken);
  checked(broken.error(), Errc::misconfigured, "sesame");
  EXPECT_TRUE(other.is_live(stamp));
  program.reload();
  EXPECT_EQ(program.config().version, version) << "something was applied";
  // It still works.
  EXPECT_TRUE(program.release(program.take({write("b")}).stamp));
}

TEST_F(Rights, AnOperatorDoes) {
  Client program = client_as("app", "one");
  const Stamp stamp = program.take({read("a")}).stamp;
  Client person = client_as("ops", "person");
  EXPECT_EQ(person.meet_busy({write("a")}).holder, stamp);
  person.set_permits("a", Mode::read, 3);
  EXPECT_TRUE(program.take({read("a")}).stamp > stamp);
  EXPECT_TRUE(person.break_hold(stamp));
  EXPECT_FALSE(program.renew(stamp, 1min));
  // And everything that programs do; programs have access to what it made.
  const Stamp theirs = person.take({write("made by ops")}).stamp;
  EXPECT_EQ(program.meet_busy({write("made by ops")}).holder, theirs);
  EXPECT_TRUE(person.release(theirs));
  EXPECT_TRUE(program.release(program.take({write("made by ops")}).stamp));
}

// While programs are open, with earlier nodes.
TEST_F(Rights, AreGivenAndTakenWhileProgramsRun) {
  Client program = client_as("app", "one");
  const Stamp stamp = program.take({write("a")}).stamp;
  refused(url_as("other"), Errc::misconfigured, "sesame");
  allow(url_as("root"), Role::operators, other_id, soon()).value();
  Client other = client_as("other", "two");
  EXPECT_EQ(other.meet_busy({write("a")}).holder, stamp);
  // Made since then, by a program that was open before.
  const Stamp later = program.take({write("later")}).stamp;
  EXPECT_EQ(other.meet_busy({write("later")}).holder, later);
  other.set_permits("b", Mode::read, 2);
  EXPECT_TRUE(other.break_hold(later));
  allow(url_as("root"), Role::programs, other_id, soon()).value();
  refuses_permits(other);
  const auto broken = other.backend().break_hold(stamp, soon());
  ASSERT_FALSE(broken);
  checked(broken.error(), Errc::misconfigured, "sesame");
  EXPECT_TRUE(other.release(other.take({write("later")}).stamp));
  allow(url_as("root"), Role::programs, other_id, soon()).value();  // harmless to repeat
  EXPECT_TRUE(program.is_live(stamp));
}

// SEM 29: also by a session that takes no other holds any more, because it lost a connection.
TEST_F(Rights, OfAHoldThatIsConvertedInASessionThatWasCut) {
  test::TcpProxy proxy(server().port());
  Client program(open_backend(url_as("app", proxy.port()), soon()).value(), "one");
  const Stamp old = program.take({read("a")}).stamp;
  proxy.cut_all();
  EXPECT_TRUE(eventually([&] {
    const RenewRequest request{old, 1min};
    return program.backend().renew(program.owner(), {&request, 1}, soon()).ok();
  }));
  program.take({write("in another session")});
  allow(url_as("root"), Role::operators, other_id, soon()).value();
  const Stamp writer = program.take({write("a")}, {.replaces = old}).stamp;
  Client other = client_as("other", "two");
  EXPECT_EQ(other.meet_busy({write("a")}).holder, writer);
  EXPECT_EQ(other.holds().size(), 2U);
  EXPECT_TRUE(other.break_hold(writer));
}

// SEM 27: programs make and change traces, also those that were made before they came.
TEST_F(Rights, ProgramsObserve) {
  Client program = client_as("app", "one");
  const Trace seen = program.observe_one("a");
  allow(url_as("root"), Role::programs, other_id, soon()).value();
  Client other = client_as("other", "two");
  EXPECT_EQ(other.observe_one("a").last_write, seen.last_write);
  const Stamp stamp = other.take({write("a")}).stamp;
  EXPECT_TRUE(other.release(stamp));
  EXPECT_EQ(program.observe_one("a").last_write, stamp);
  other.observe_one("b");
  EXPECT_TRUE(program.release(program.take({write("b")}).stamp));
  EXPECT_EQ(other.backend().sweep_traces(Duration::zero(), soon()).value(), 2U);
}

TEST_F(Rights, OnlyTheOneWhoMadeTheSpaceGivesThem) {
  for (const char* const user : {"app", "ops", "other"}) {
    const Status given = allow(url_as(user), Role::operators, app_id, soon());
    ASSERT_FALSE(given) << user;
    checked(given.error(), Errc::misconfigured, "sesame");
  }
  const Status own = allow(url(), Role::programs, app_id, soon());
  ASSERT_FALSE(own) << "in a space that is open to everybody";
  EXPECT_TRUE(says(checked(own.error(), Errc::misconfigured), "without a user"));
  for (const char* const account :
       {"", "app", "app:", ":QUJDREVGR0hJSktMTU5PUFFSU1Q=", "app:app-sesame", "app:APP",
        "a b:QUJDREVGR0hJSktMTU5PUFFSU1Q="}) {
    const Status given = allow(url_as("root"), Role::programs, account, soon());
    ASSERT_FALSE(given) << account;
    EXPECT_TRUE(says(checked(given.error(), Errc::invalid, "sesame"), "USER:DIGEST"));
  }
}

// Without Lockset, only with the client library.
TEST_F(Rights, TheServersRefuseWhatAProgramMayNot) {
  constexpr int no_auth = -102;  // ZNOAUTH
  SpaceView program(hosts(), theirs().space(), "app:app-sesame");
  const std::string root = theirs().root();
  EXPECT_EQ(program.raw().set(root + "/settings", ""), no_auth);
  EXPECT_EQ(program.raw().set(root + "/breaks", ""), no_auth);
  EXPECT_EQ(program.raw().set(theirs().space() + "/config", ""), no_auth);
  for (const char* const part : {"/settings", "/config", "/names", "/holds"}) {
    EXPECT_EQ(program.raw().remove(root + part), no_auth) << part;
  }
  // Accounts without a role see nothing.
  EXPECT_EQ(raw().set(root + "/config", ""), no_auth);
  EXPECT_EQ(raw().create(root + "/names/forged", ""), no_auth);
}

TEST_F(Rights, DoctorTellsTheRole) {
  EXPECT_TRUE(says(test::finding(url_as("app"), "rights"), "is a program"));
  EXPECT_TRUE(says(test::finding(url_as("ops"), "rights"), "is an operator"));
  EXPECT_TRUE(says(test::finding(url_as("root"), "rights"), "is the owner of the space"));
}

}  // namespace
}  // namespace lockset::zookeeper_tests
