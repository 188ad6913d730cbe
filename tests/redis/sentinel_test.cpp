// SEM 8, 10, 20, 31: the primary is found by sentinels, and replaced by one of its replicas.
#include <algorithm>
#include <atomic>
#include <fstream>
#include <thread>

#include "tests/redis/fixture.h"
#include "tests/redis/sentinel_set.h"
#include "tests/support/requirement.h"
#include "tests/support/tcp_proxy.h"

namespace lockset::redis_tests {
namespace {

using test::SentinelSet;
using test::TcpProxy;

// The quarantine: as long as a test's steps during it may take on a busy machine.
constexpr Duration brief = 5s;

// One set for all tests, because it takes some seconds to start; each test gets it settled and
// empty.
class RedisSentinel : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::have_server("redis") || !test::have_server("redis-sentinel")) return;
    static SentinelSet shared;
    set_ = &shared;
    set_->settle();
    primary_ = set_->primary();
    set_->admin(primary_).say({"FLUSHALL"});
    init_space(set_->url(), soon()).value();
    client("boss").change(SetMaxLease{brief});
    set_->settle();
  }
  void TearDown() override {
    for (std::size_t i = 0; set_ != nullptr && i < SentinelSet::size; ++i) {
      for (PrivateServer* const one : {&set_->server(i), &set_->sentinel(i)}) one->resume();
    }
  }

  [[nodiscard]] SentinelSet& set() { return *set_; }
  [[nodiscard]] std::size_t primary() const { return primary_; }
  [[nodiscard]] Client client(const std::string& app) const { return client(set_->url(), app); }
  [[nodiscard]] static Client client(const std::string& url, const std::string& app) {
    return Client(open_backend(url, soon()).value(), app);
  }
  // What the primary grants from now on, no replica gets.
  void stop_copying() {
    for (std::size_t i = 0; i < SentinelSet::size; ++i) {
      if (i != primary_) set_->admin(i).say({"CONFIG", "SET", "masterauth", "wrong"});
    }
    set_->admin(primary_).say({"CLIENT", "KILL", "TYPE", "replica"});
    ASSERT_TRUE(eventually([&] { return set_->admin(primary_).info("connected_slaves") == "0"; }));
  }
  void copy_again() {
    for (std::size_t i = 0; i < SentinelSet::size; ++i) {
      try {
        set_->admin(i).say({"CONFIG", "SET", "masterauth", set_->password()});
      } catch (const std::runtime_error&) {  // it does not run
      }
    }
  }
  // Kills the primary; returns when the sentinels have agreed on another one.
  std::size_t kill_primary() {
    set_->server(primary_).kill();
    copy_again();
    // Copying has been stopped for a while.
    set_->expect_failover(2s);
    return set_->primary(primary_);
  }
  // Ends a test that has killed it.
  void bring_back() {
    set_->server(primary_).start();
    copy_again();
  }
  // Renews until the client has found the way to the new primary.
  static bool renewed(Client& client, Stamp stamp) {
    bool there = false;
    EXPECT_TRUE(eventually([&] {
      const auto reply = client.ask_to_renew(stamp, 30s);
      if (reply) there = reply->has_value();
      return reply.ok();
    }));
    return there;
  }
  static void expect_quarantine(Client& client, const Wanted& wanted) {
    EXPECT_TRUE(eventually([&] { return client.backend().load_config(soon()).ok(); }));
    const std::string message = failed(client.ask(wanted), Errc::unavailable);
    EXPECT_TRUE(says(message, "no new grants")) << message;
  }
  static void wait_out(Client& client) {
    EXPECT_TRUE(client.inspect().quarantine);
    EXPECT_TRUE(eventually([&] { return !client.inspect().quarantine; }, 3 * test::patience));
  }

 private:
  SentinelSet* set_ = nullptr;
  std::size_t primary_ = 0;
};

// SEM 20: no double grant; the living holder keeps its lock, and stamps go on upwards.
TEST_F(RedisSentinel, AReplicaWithoutTheLastGrantsGrantsNoneOfThemAgain) {
  Client holder = client("holder");
  Client other = client("other");
  const Stamp copied = holder.take({write("copied")}, {.lease = 30s}).stamp;
  set().settle();
  stop_copying();
  const Stamp lost = holder.take({write("lost"), read("too")}, {.lease = 30s}).stamp;
  const Stamp unheard = other.take({write("unheard")}).stamp;
  const std::size_t next = kill_primary();
  RawRedis admin = set().admin(next);
  const auto there = test::look_into(admin, "lockset");
  EXPECT_EQ(std::count_if(there.begin(), there.end(),
                          [&](const auto& hold) { return hold.stamp == lost; }),
            0)
      << "the test is void: it reached the replica";
  expect_quarantine(other, {write("lost")});
  // For as long as a primary that was replaced may be believed, too (ADR 0078).
  EXPECT_GE(admin.number({"HGET", "{lockset}", "quarantine"}) -
                admin.number({"HGET", "{lockset}", "lost"}),
            (brief + 1s) / 1us);
  EXPECT_TRUE(renewed(holder, lost));
  EXPECT_TRUE(renewed(holder, copied));
  wait_out(other);
  EXPECT_EQ(other.meet_busy({write("lost")}).holder, lost);
  EXPECT_EQ(other.meet_busy({write("too")}).holder, lost);
  EXPECT_EQ(other.meet_busy({write("copied")}).holder, copied);
  EXPECT_GT(other.take({write("x")}).stamp, std::max(lost, unheard));
  EXPECT_TRUE(holder.release(lost));
  EXPECT_GT(other.take({write("lost")}).stamp, std::max(lost, unheard));
  bring_back();
}

// Who puts back a space that is gone waits for as long.
TEST_F(RedisSentinel, ASpaceThatIsGoneIsPutBackWithTheSameQuarantine) {
  Client mine = client("mine");
  RawRedis admin = set().admin(primary());
  admin.say({"FLUSHALL"});
  expect_quarantine(mine, {write("a")});
  EXPECT_GE(admin.number({"HGET", "{lockset}", "quarantine"}) -
                admin.number({"HGET", "{lockset}", "lost"}),
            (brief + 1s) / 1us);
}

// What the quarantine is for: without it the name is granted again.
TEST_F(RedisSentinel, WithoutAQuarantineTheNameIsGrantedTwice) {
  Client holder = client("holder");
  Client other = client("other");
  set().settle();
  stop_copying();
  const Grant lost = holder.take({write("lost")}, {.lease = 10min});
  const std::size_t next = kill_primary();
  expect_quarantine(other, {write("lost")});
  set().admin(next).say({"HSET", "{lockset}", "quarantine", "0"});
  EXPECT_GT(other.take({write("lost")}).stamp, lost.stamp)
      << "while the first holder has minutes left by its own clock";
  bring_back();
}

// A program notices nothing but that it waits: with a busy space, and a primary that stands still
// instead of ending.
TEST_F(RedisSentinel, AProgramKeepsItsLock) {
  client("boss").change(SetMaxLease{10s});
  set().settle();
  Locks mine = lockset::open(set().url(), {.app = "mine", .lease = 10s}).value();
  Locks others = lockset::open(set().url(), {.app = "others", .store_patience = 2min}).value();
  Hold hold = mine.acquire({write("a")}).value();
  set().server(primary()).pause();
  set().expect_failover();
  const std::size_t next = set().primary(primary());
  EXPECT_TRUE(eventually([&] { return hold.renew().ok(); }));
  const Result<Hold> free = others.acquire({write("b")}, {.wait = 2min});
  ASSERT_TRUE(free) << free.error().message;
  EXPECT_FALSE(others.try_acquire({write("a")}).value());
  EXPECT_TRUE(hold.valid());
  EXPECT_TRUE(hold.release());
  const Result<Hold> at_last = others.acquire({write("a")}, {.wait = 2min});
  ASSERT_TRUE(at_last) << at_last.error().message;
  EXPECT_GT(at_last->stamp(), hold.stamp());
  // SEM 20: the old one wakes, and is asked by nobody.
  set().server(primary()).resume();
  EXPECT_FALSE(mine.try_acquire({write("a")}).value());
  EXPECT_EQ(set().primary(), next);
}

// What bounds an old primary that goes on: its clients ask the sentinels, and take a majority's
// word for a second only.
TEST_F(RedisSentinel, APrimaryThatGoesOnIsNotAsked) {
  // It can't be demoted.
  set().admin(primary()).say({"ACL", "SETUSER", "default", "-slaveof", "-replicaof"});
  Client holder = client("holder");
  Client plain = client(set().direct(primary()), "plain");
  const Stamp before = holder.take({write("a")}, {.lease = 30s}).stamp;
  set().settle();
  set().fail_over();
  EXPECT_EQ(set().admin(primary()).info("role"), "master") << "the test is void: it was demoted";
  // A connection to the old one is there, and is left.
  expect_quarantine(holder, {write("b")});
  EXPECT_TRUE(renewed(holder, before));
  wait_out(holder);
  const Stamp stamp = holder.take({write("b")}).stamp;
  // An address of the server itself is bounded by nothing.
  EXPECT_TRUE(plain.take({write("b")}).stamp);
  EXPECT_EQ(client("newcomer").meet_busy({write("b")}).holder, stamp);
  set().admin(primary()).say({"ACL", "SETUSER", "default", "+@all"});
}

// A client that is cut off together with the old primary grants itself nothing.
TEST_F(RedisSentinel, WithoutAMajorityNothingIsGranted) {
  std::vector<std::unique_ptr<TcpProxy>> ways;
  std::vector<std::uint16_t> ports;
  for (std::size_t i = 0; i < SentinelSet::size; ++i) {
    ways.push_back(std::make_unique<TcpProxy>(set().sentinel(i).port()));
    ports.push_back(ways.back()->port());
  }
  Client mine = client(set().url(ports, ":" + set().password(), ""), "mine");
  const Stamp stamp = mine.take({write("a")}, {.lease = 30s}).stamp;
  // One may be silent.
  ways[0]->black_hole(TcpProxy::Way::both);
  EXPECT_TRUE(eventually([&] { return mine.ask({write("c")}).ok(); }));
  ways[2]->black_hole(TcpProxy::Way::both);
  EXPECT_TRUE(eventually([&] { return !mine.ask({write("other")}).ok(); }));
  const std::string refused = failed(mine.ask({write("other")}), Errc::unavailable);
  EXPECT_TRUE(says(refused, "only 1 of the 3 sentinels")) << refused;
  EXPECT_TRUE(says(refused, "2 have to agree")) << refused;
  EXPECT_EQ(mine.ask_to_renew(stamp, 30s).error().code, Errc::unavailable);
  ways[2] = nullptr;
  ways[2] = std::make_unique<TcpProxy>(set().sentinel(2).port());
}

// SEM 8: back to the first one, which has been there all the time and knows nothing of the loss.
TEST_F(RedisSentinel, BackToTheFirstOneIsALossAsWell) {
  Client mine = client("mine");
  const std::string run = set().admin(primary()).info("run_id");
  set().settle();
  set().fail_over();
  set().settle();
  for (int turns = 0; set().primary() != primary() && turns < 10; ++turns) {
    set().allow_only(primary());
    set().fail_over();
    set().settle();
  }
  set().allow_all();
  ASSERT_EQ(set().primary(), primary());
  EXPECT_EQ(set().admin(primary()).info("run_id"), run);
  expect_quarantine(mine, {write("a")});
}

TEST_F(RedisSentinel, ErrorsNameTheCulprit) {
  const auto refused = [](const std::string& url, Errc code) {
    const auto opened = open_backend(url, soon());
    EXPECT_FALSE(opened) << "it was opened";
    return opened ? std::string() : checked(opened.error(), code);
  };
  std::string url = set().url();
  const auto with = [&](const std::string& what, const std::string& instead) {
    std::string text = url;
    return text.replace(text.find(what), what.size(), instead);
  };
  std::string error = refused(with("/main?", "/other?"), Errc::misconfigured);
  EXPECT_TRUE(says(error, "knows no primary \"other\", but \"main\"")) << error;
  error = refused(with("sentinel_password_file=", "x="), Errc::invalid);
  error = refused(url.substr(0, url.find('?')), Errc::misconfigured);
  EXPECT_TRUE(says(error, "REDISCLI_SENTINEL_AUTH")) << error;
  {
    const Environment right("REDISCLI_SENTINEL_AUTH", [&] {
      std::ifstream file(set().sentinel_password_file());
      std::string line;
      std::getline(file, line);
      return line;
    }());
    EXPECT_TRUE(open_backend(url.substr(0, url.find('?')), soon()));
  }
  {
    const Environment wrong("REDISCLI_SENTINEL_AUTH", "wrong");
    error = refused(url.substr(0, url.find('?')), Errc::misconfigured);
    EXPECT_TRUE(says(error, "sentinel 127.0.0.1:")) << error;
    EXPECT_TRUE(says(error, "refuses this user or password")) << error;
  }
  error = refused(with(set().password(), "wrong"), Errc::misconfigured);
  EXPECT_TRUE(says(error, "refuses this")) << error;
  const auto port = [&](std::size_t i) { return set().sentinel(i).port(); };
  error = refused(set().url({1, 2, port(0)}, ":" + set().password(), ""), Errc::unavailable);
  EXPECT_TRUE(says(error, "sentinel 127.0.0.1:1: no server can be reached")) << error;
  error = refused(set().url({port(0)}, ":" + set().password(), ""), Errc::misconfigured);
  EXPECT_TRUE(says(error, "2 have to agree, and the address names 1")) << error;
  // The same one twice makes no majority.
  std::string twice = set().url({port(0), port(0), 1}, ":" + set().password(), "");
  twice.replace(twice.find("127.0.0.1"), 9, "localhost");
  error = refused(twice, Errc::misconfigured);
  EXPECT_TRUE(says(error, "are one and the same")) << error;
  const auto data = [&](std::size_t i) { return set().server(i).port(); };
  error = refused(set().url({data(0), data(1), data(2)}, ":" + set().password(), ""),
                  Errc::misconfigured);
  EXPECT_TRUE(says(error, "sentinel")) << error;
  error = refused("redis://:x@127.0.0.1:" + std::to_string(port(0)) + "/", Errc::misconfigured);
  EXPECT_TRUE(says(error, "refuses")) << error;
}

TEST_F(RedisSentinel, DoctorAndStatusSayWhereTheyAre) {
  const std::string at = "127.0.0.1:" + std::to_string(set().server(primary()).port());
  const std::string found = finding(set().url(), "primary");
  EXPECT_TRUE(says(found, "good: " + at + ", \"main\" by the sentinels")) << found;
  EXPECT_TRUE(says(finding(set().url(), "sentinels"), "good: all 3 name it, and 2"));
  EXPECT_EQ(finding(set().url(), "sentinel"), "");
  EXPECT_EQ(finding(set().url(), "min-replicas-to-write"), "");
  const std::string server = client("mine").inspect().server;
  EXPECT_TRUE(says(server, at + ", main by the sentinels 127.0.0.1:")) << server;
  set().sentinel(1).kill();
  EXPECT_TRUE(says(finding(set().url(), "sentinels"), "warning: 2 of 3 name it, and 2 have"));
  EXPECT_TRUE(says(finding(set().url(), "sentinel"), "no server can be reached"));
  set().sentinel(1).start();
}

}  // namespace
}  // namespace lockset::redis_tests
