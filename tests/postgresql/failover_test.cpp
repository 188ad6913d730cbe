// SEM 8, 10, 20, 31: a primary and an asynchronous standby; the standby takes over without the last
// grants.
#include "tests/postgresql/fixture.h"
#include "tests/support/requirement.h"
#include "tests/support/tcp_proxy.h"

namespace lockset::postgresql_tests {
namespace {

using test::PrivateServer;
using test::TcpProxy;

class Failover : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::have_server("postgresql")) return;
    old_ = std::make_unique<PrivateServer>("postgresql");
    new_ = std::make_unique<PrivateServer>("postgresql");
    link_ = std::make_unique<TcpProxy>(old_->port());
    new_->follow(*old_, link_->port());
    init_space(only(*old_), soon()).value();
    Client(open_backend(only(*old_), soon()).value()).change(SetMaxLease{5s});
  }

  // The address of one of them, and of both; the old one is named first.
  static std::string only(const PrivateServer& one) { return one.admin_url() + "?space=s"; }
  [[nodiscard]] std::string both() const {
    const std::string one = old_->admin_url();
    const std::size_t path = one.rfind('/');
    return one.substr(0, path) + ",127.0.0.1:" + std::to_string(new_->port()) + one.substr(path) +
           "?space=s";
  }
  [[nodiscard]] static Client client(const std::string& url, const std::string& app) {
    return Client(open_backend(url, soon()).value(), app);
  }
  // All that was committed has reached the standby.
  void await_standby() const {
    Session primary(old_->admin_url());
    const std::string written = primary.text("SELECT pg_current_wal_flush_lsn()");
    EXPECT_TRUE(eventually([&] {
      return Session(new_->admin_url())
                 .text("SELECT pg_last_wal_replay_lsn() >= '" + written + "'::pg_lsn") == "t";
    }));
  }
  // From now on nothing does.
  void cut_link() { link_->black_hole(TcpProxy::Way::both); }
  void promote() const {
    EXPECT_EQ(Session(new_->admin_url()).text("SELECT pg_promote(true, 60)"), "t");
  }
  // Renews until the client has found the way to the new primary.
  static bool renewed(Client& client, Stamp stamp) {
    bool there = false;
    EXPECT_TRUE(eventually([&] {
      const Result<std::optional<Renewal>> renewal = client.ask_to_renew(stamp, 30s);
      if (renewal) there = renewal->has_value();
      return renewal.ok();
    }));
    return there;
  }
  static void expect_quarantine(Client& client, const test::Wanted& wanted) {
    // The first calls may use connections that died.
    EXPECT_TRUE(eventually([&] { return client.backend().load_config(soon()).ok(); }));
    const Result<AcquireOutcome> outcome = client.ask(wanted);
    ASSERT_FALSE(outcome) << test::describe(outcome);
    EXPECT_EQ(outcome.error().code, Errc::unavailable) << outcome.error().message;
    EXPECT_TRUE(says(outcome.error().message, "no new grants")) << outcome.error().message;
  }

  std::unique_ptr<PrivateServer> old_;
  std::unique_ptr<PrivateServer> new_;

 private:
  std::unique_ptr<TcpProxy> link_;
};

// SEM 20: no double grant; the living holder keeps its lock, and stamps go on upwards
TEST_F(Failover, TheStandbyWithoutTheLastGrantsGrantsNoneOfThemAgain) {
  Client holder = client(both(), "holder");
  Client other = client(both(), "other");
  const Stamp copied = holder.take({write("copied")}, {.lease = 10min}).stamp;
  await_standby();
  cut_link();
  const Stamp lost = holder.take({write("lost"), read("too")}, {.lease = 10min}).stamp;
  const Stamp unheard = other.take({write("unheard")}, {.lease = 10min}).stamp;
  old_->kill();
  promote();

  expect_quarantine(other, {write("lost")});
  EXPECT_FALSE(other.is_live(lost)) << "the test is void: it reached the standby";
  EXPECT_TRUE(renewed(holder, lost));
  EXPECT_TRUE(renewed(holder, copied));
  EXPECT_EQ(other.holds().size(), 2U);
  EXPECT_TRUE(other.inspect().quarantine);
  EXPECT_TRUE(eventually([&] { return !other.inspect().quarantine; }, 3 * test::patience));
  EXPECT_EQ(other.meet_busy({write("lost")}).holder, lost);
  EXPECT_EQ(other.meet_busy({write("too")}).holder, lost);
  EXPECT_EQ(other.meet_busy({write("copied")}).holder, copied);
  EXPECT_GT(other.take({write("x")}).stamp, std::max(lost, unheard));
  EXPECT_TRUE(holder.release(lost));
  EXPECT_GT(other.take({write("lost")}).stamp, std::max(lost, unheard));
  // The server restarts, and is the same.
  new_->restart();
  EXPECT_TRUE(eventually([&] { return holder.backend().load_config(soon()).ok(); }));
  EXPECT_TRUE(holder.take({write("y")}).stamp);
}

// What the quarantine is for: a standby that does not compare grants the name again.
TEST_F(Failover, WithoutAQuarantineTheNameIsGrantedTwice) {
  Client holder = client(both(), "holder");
  await_standby();
  cut_link();
  const Stamp lost = holder.take({write("lost")}, {.lease = 10min}).stamp;
  old_->kill();
  promote();
  Session admin(new_->admin_url());
  EXPECT_GT(admin.number("SELECT s.quarantine_v2()"), 0);
  admin.run("UPDATE s.meta SET quarantine_until = 'epoch'");
  Client other = client(both(), "other");
  EXPECT_GT(other.take({write("lost")}).stamp, lost)
      << "while the first holder has ten minutes left by its own clock";
}

// A program notices nothing but that it waits.
TEST_F(Failover, AProgramKeepsItsLock) {
  client(only(*old_), "boss").change(SetMaxLease{20s});
  Locks mine = lockset::open(both(), {.app = "mine", .lease = 20s}).value();
  Locks others = lockset::open(both(), {.app = "others", .store_patience = 2min}).value();
  await_standby();
  cut_link();
  Hold hold = mine.acquire({write("a")}).value();
  old_->kill();
  promote();
  EXPECT_TRUE(eventually([&] { return hold.renew().ok(); }));
  const Result<Hold> next = others.acquire({write("b")}, {.wait = 2min});
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_FALSE(others.try_acquire({write("a")}).value());
  EXPECT_TRUE(hold.valid());
  EXPECT_TRUE(hold.release());
  const Result<Hold> at_last = others.acquire({write("a")}, {.wait = 2min});
  ASSERT_TRUE(at_last) << at_last.error().message;
  EXPECT_GT(at_last->stamp(), hold.stamp());
}

// The old primary comes back as one, and stands first in the address.
TEST_F(Failover, TheOldPrimaryIsNotTakenForTheNewOne) {
  Client holder = client(both(), "holder");
  await_standby();
  old_->kill();
  promote();
  expect_quarantine(holder, {write("a")});
  EXPECT_TRUE(eventually([&] { return !holder.inspect().quarantine; }, 3 * test::patience));
  const Stamp stamp = holder.take({write("a")}, {.lease = 10min}).stamp;
  old_->start();
  // Who opens now looks at both.
  EXPECT_EQ(client(both(), "newcomer").meet_busy({write("a")}).holder, stamp);
  // Who has seen the new one waits for it. (Connections are lost, too.)
  new_->restart();
  EXPECT_TRUE(eventually([&] { return holder.backend().load_config(soon()).ok(); }));
  EXPECT_TRUE(holder.is_live(stamp));
  new_->stop();
  EXPECT_TRUE(eventually([&] {
    const Result<AcquireOutcome> outcome = holder.ask_once({write("b")});
    EXPECT_FALSE(outcome) << "granted by a server that was replaced";
    return !outcome && says(outcome.error().message, "was replaced by a standby");
  }));
}

// What is not bounded: a primary that is cut off from its standby, and not from its clients.
TEST_F(Failover, ACutOffPrimaryGrantsTwice) {
  Client holder = client(both(), "holder");
  await_standby();
  cut_link();
  promote();
  Client other = client(only(*new_), "other");
  expect_quarantine(other, {write("a")});
  EXPECT_TRUE(eventually([&] { return !other.inspect().quarantine; }, 3 * test::patience));
  EXPECT_TRUE(other.take({write("a")}).stamp);
  EXPECT_TRUE(holder.take({write("a")}).stamp) << "its connection leads to the old one";
}

// With a synchronous standby it grants nothing: a commit waits for what does not come.
TEST_F(Failover, ACutOffPrimaryWithASynchronousStandbyGrantsNothing) {
  Session admin(old_->admin_url());
  admin.run("ALTER SYSTEM SET synchronous_standby_names = 'standby'");
  admin.run("SELECT pg_reload_conf()");
  init_space(only(*old_) + "&failover=synchronous", soon()).value();
  Client holder = client(both(), "holder");
  const Stamp before = holder.take({write("a")}, {.lease = 10min}).stamp;
  cut_link();
  promote();
  const Result<AcquireOutcome> outcome =
      holder.ask_once({write("b")}, {.by = BootClock::now() + 1s});
  ASSERT_FALSE(outcome) << test::describe(outcome);
  EXPECT_EQ(outcome.error().code, Errc::indeterminate) << outcome.error().message;
  // What it had granted is there, so that the space needs no quarantine.
  Session(new_->admin_url()).run("ALTER SYSTEM RESET synchronous_standby_names");
  Session(new_->admin_url()).run("SELECT pg_reload_conf()");
  Client other = client(only(*new_), "other");
  EXPECT_TRUE(other.is_live(before));
  EXPECT_EQ(other.holds().size(), 1U);
  EXPECT_EQ(other.meet_busy({write("a")}).holder, before);
  EXPECT_GT(other.take({write("b")}).stamp, before);
}

}  // namespace
}  // namespace lockset::postgresql_tests
