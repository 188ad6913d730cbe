// SEM 8, 10, 20, 31: a primary and an asynchronous replica behind one address; the replica takes
// over without the last grants.
#include "lockset/url.h"
#include "tests/mysql/fixture.h"
#include "tests/support/requirement.h"
#include "tests/support/tcp_proxy.h"

namespace lockset::mysql_tests {
namespace {

using test::PrivateServer;
using test::TcpProxy;

class Failover : public testing::TestWithParam<ServerKind> {
 protected:
  void SetUp() override {
    const std::string& kind = GetParam().kind;
    if (!test::have_server(kind)) return;
    const auto start = [&](const std::string& id) {
      return std::make_unique<PrivateServer>(
          kind, std::vector<std::string>{"--log-bin=binlog", "--server-id=" + id});
    };
    old_ = start("1");
    new_ = start("2");
    link_ = std::make_unique<TcpProxy>(old_->port());
    front_ = std::make_unique<TcpProxy>(old_->port());
    // The accounts have one password on both, as where one server is made from the other.
    password_ = Url::parse(old_->admin_url()).value().password;
    RawMysql(new_->admin_url())
        .rows("ALTER USER lockset_admin@'%' IDENTIFIED BY '" + password_ + "'");
    follow();
    init_space(only(*old_), soon()).value();
    Client(open_backend(only(*old_), soon()).value()).change(SetMaxLease{5s});
  }

  [[nodiscard]] std::string at(std::uint16_t port) const {
    return "mysql://lockset_admin:" + password_ + "@127.0.0.1:" + std::to_string(port) + "/lockset";
  }
  [[nodiscard]] std::string only(const PrivateServer& one) const {
    return at(one.port()) + "?space=s&strategy=" + GetParam().strategy;
  }
  // The address that leads to the primary.
  [[nodiscard]] std::string primary() const {
    return at(front_->port()) + "?space=s&strategy=" + GetParam().strategy;
  }
  [[nodiscard]] static Client client(const std::string& url, const std::string& app) {
    return Client(open_backend(url, soon()).value(), app);
  }
  [[nodiscard]] std::unique_ptr<RawMysql> session(const PrivateServer& one) const {
    return std::make_unique<RawMysql>(at(one.port()));
  }
  // All that was committed has reached the replica.
  void await_replica() {
    const auto source = session(*old_);
    source->rows("CREATE TABLE IF NOT EXISTS mark (n INT PRIMARY KEY)");
    source->rows("INSERT INTO mark VALUES (" + std::to_string(++marks_) + ")");
    const auto replica = session(*new_);
    const std::string look = "SELECT COUNT(*) FROM mark WHERE n = " + std::to_string(marks_);
    EXPECT_TRUE(eventually(
        [&] { return replica->code_of("SELECT 1 FROM mark") == 0 && replica->number(look) == 1; }));
  }
  // From now on nothing does.
  void cut_link() { link_->black_hole(TcpProxy::Way::both); }
  void promote() const {
    const auto replica = session(*new_);
    replica->rows(is_mariadb() ? "STOP SLAVE" : "STOP REPLICA");
    replica->rows("SET GLOBAL read_only = 0");
  }
  void lead_to_the_new_one() { front_->forward_to(new_->port()); }
  static bool renewed(Client& client, Stamp stamp) {
    bool there = false;
    EXPECT_TRUE(eventually([&] {
      const Result<std::optional<Renewal>> renewal = client.ask_to_renew(stamp, 30s);
      if (renewal) there = renewal->has_value();
      return renewal.ok();
    }));
    return there;
  }
  static void expect_quarantine(Client& client, const Wanted& wanted) {
    // The first calls may use connections that died.
    EXPECT_TRUE(eventually([&] { return client.backend().load_config(soon()).ok(); }));
    const Result<AcquireOutcome> outcome = client.ask(wanted);
    ASSERT_FALSE(outcome) << test::describe(outcome);
    EXPECT_EQ(outcome.error().code, Errc::unavailable) << outcome.error().message;
    EXPECT_TRUE(says(outcome.error().message, "no new grants")) << outcome.error().message;
  }
  static void wait_out(Client& client) {
    EXPECT_TRUE(client.inspect().quarantine);
    EXPECT_TRUE(eventually([&] { return !client.inspect().quarantine; }, 3 * test::patience));
  }

  std::unique_ptr<PrivateServer> old_;
  std::unique_ptr<PrivateServer> new_;

 private:
  [[nodiscard]] bool is_mariadb() const { return GetParam().kind == "mariadb"; }
  void follow() {
    const auto source = session(*old_);
    const auto where =
        source->rows(is_mariadb() ? "SHOW MASTER STATUS" : "SHOW BINARY LOG STATUS").at(0);
    const std::string name = is_mariadb() ? "MASTER" : "SOURCE";
    const auto replica = session(*new_);
    replica->rows("CHANGE " + std::string(is_mariadb() ? "MASTER" : "REPLICATION SOURCE") + " TO " +
                  name + "_HOST='127.0.0.1', " + name + "_PORT=" + std::to_string(link_->port()) +
                  ", " + name + "_USER='lockset_admin', " + name + "_PASSWORD='" + password_ +
                  "', " + name + "_LOG_FILE='" + where.at(0).value() + "', " + name +
                  "_LOG_POS=" + where.at(1).value() +
                  (is_mariadb() ? "" : ", SOURCE_AUTO_POSITION=0, GET_SOURCE_PUBLIC_KEY=1"));
    replica->rows(is_mariadb() ? "START SLAVE" : "START REPLICA");
    replica->rows("SET GLOBAL read_only = 1");
  }

  std::unique_ptr<TcpProxy> link_;
  std::unique_ptr<TcpProxy> front_;
  std::string password_;
  int marks_ = 0;
};

// SEM 20: no double grant; the living holder keeps its lock, and stamps go on upwards
TEST_P(Failover, TheReplicaWithoutTheLastGrantsGrantsNoneOfThemAgain) {
  Client holder = client(primary(), "holder");
  Client other = client(primary(), "other");
  const Stamp copied = holder.take({write("copied")}, {.lease = 10min}).stamp;
  await_replica();
  cut_link();
  const Stamp lost = holder.take({write("lost"), read("too")}, {.lease = 10min}).stamp;
  const Stamp unheard = other.take({write("unheard")}, {.lease = 10min}).stamp;
  old_->kill();
  promote();
  lead_to_the_new_one();

  expect_quarantine(other, {write("lost")});
  EXPECT_FALSE(other.is_live(lost)) << "the test is void: it reached the replica";
  EXPECT_TRUE(renewed(holder, lost));
  EXPECT_TRUE(renewed(holder, copied));
  EXPECT_EQ(other.holds().size(), 2U);
  wait_out(other);
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

// What the quarantine is for: a replica that does not compare grants the name again.
TEST_P(Failover, WithoutAQuarantineTheNameIsGrantedTwice) {
  Client holder = client(primary(), "holder");
  await_replica();
  cut_link();
  const Stamp lost = holder.take({write("lost")}, {.lease = 10min}).stamp;
  old_->kill();
  promote();
  Client other = client(only(*new_), "other");
  expect_quarantine(other, {write("lost")});
  session(*new_)->rows("UPDATE s_home SET quarantine_until = 0");
  EXPECT_GT(other.take({write("lost")}).stamp, lost)
      << "while the first holder has ten minutes left by its own clock";
}

// What is not bounded: a primary that is cut off from its replica, and not from its clients.
TEST_P(Failover, ACutOffPrimaryGrantsTwice) {
  Client holder = client(primary(), "holder");
  await_replica();
  cut_link();
  promote();
  Client other = client(only(*new_), "other");
  expect_quarantine(other, {write("a")});
  wait_out(other);
  EXPECT_TRUE(other.take({write("a")}).stamp);
  EXPECT_TRUE(holder.take({write("a")}).stamp) << "its connection leads to the old one";
  // It comes back as a primary, to somebody who names it.
  old_->restart();
  EXPECT_TRUE(client(only(*old_), "third").take({write("b")}).stamp);
}

INSTANTIATE_TEST_SUITE_P(Servers, Failover,
                         testing::Values(ServerKind{"mariadb", "select-for-update"},
                                         ServerKind{"mysql", "unique-index"}),
                         name_of);

}  // namespace
}  // namespace lockset::mysql_tests
