// SEM 27, 28: traces of writes, where they stand in the server, and when they stop to count.
#include <chrono>
#include <optional>
#include <set>

#include "backends/redis/record.h"
#include "backends/redis/scripts.h"
#include "tests/redis/fixture.h"

namespace lockset::redis_tests {
namespace {

class RedisObserving : public RedisServerTest {
 protected:
  // The fields of the space that belong to traces, and the names that are marked.
  [[nodiscard]] std::set<std::string> traces() {
    std::set<std::string> found;
    for (const test::RawReply& field : admin().say({"HKEYS", "{lockset}"}).list) {
      if (field.text.starts_with("w:") || field.text.starts_with("o:")) found.insert(field.text);
    }
    for (const test::RawReply& key : admin().say({"KEYS", "{lockset}:shared:*"}).list) {
      if (!admin().text({"ZSCORE", key.text, mark}).empty()) found.insert(key.text);
    }
    return found;
  }
  [[nodiscard]] std::string field(const std::string& name) {
    return admin().text({"HGET", "{lockset}", name});
  }
  [[nodiscard]] std::int64_t now_us() {
    const test::RawReply time = admin().say({"TIME"});
    return std::stoll(time.list.at(0).text) * 1'000'000 + std::stoll(time.list.at(1).text);
  }
  // As if the name had been observed so much earlier, and written too.
  void let_pass(const std::string& name, std::chrono::hours time) {
    const std::int64_t us = std::chrono::microseconds(time).count();
    admin().say({"HINCRBY", "{lockset}", "o:" + name, std::to_string(-us)});
    std::string entry = field("w:" + name);
    const std::size_t at = entry.find(' ', entry.find(' ') + 1) + 1;
    const std::size_t end = entry.find(' ', at);
    entry.replace(at, end - at, std::to_string(std::stoll(entry.substr(at, end - at)) - us));
    admin().say({"HSET", "{lockset}", "w:" + name, entry});
  }
  // Of all holds.
  void end_leases() {
    for (const test::RawReply& stamp : admin().say({"ZRANGE", "{lockset}:leases", "0", "-1"}).list)
      admin().say({"ZADD", "{lockset}:leases", "XX", "1", stamp.text});
  }
  void write_once(Client& client, const std::string& name) {
    EXPECT_TRUE(client.release(client.take({write(name)}).stamp));
  }
  // The client meets the quarantine, in which nothing can be observed, and which ends at once.
  void pass_quarantine(Client& client) {
    const std::vector<std::string> names{"a"};
    std::string message;
    EXPECT_TRUE(eventually([&] {  // the first call may use a connection that died
      client.reload();
      const Result<ObserveOutcome> refused =
          client.backend().observe({names, client.config().version, soon()});
      message = refused ? "it was observed" : refused.error().message;
      return says(message, "nothing is granted or observed for another ");
    })) << message;
    admin().say({"HSET", "{lockset}", "quarantine", "0"});
  }
  void expect_changed(Client& client, const Trace& seen) {
    const Changed changed =
        client.meet_changed({write("a")}, {.unchanged_since = {{0, seen.last_write}}});
    EXPECT_FALSE(changed.trace.last_write);
    const Trace now = client.observe_one("a");
    EXPECT_NE(now.last_write, seen.last_write);
    EXPECT_FALSE(now.being_written);
    EXPECT_EQ(client.observe_one("a").last_write, now.last_write);
  }

  static constexpr const char* mark = "9007199254740992";
};

// Names that nobody observes cost nothing.
TEST_F(RedisObserving, OnlyObservedNamesHaveTraces) {
  if (!start()) return;
  Client c = client();
  write_once(c, "a");
  EXPECT_EQ(traces(), std::set<std::string>());
  c.observe({"b", "c"});
  write_once(c, "a");
  EXPECT_EQ(traces(), (std::set<std::string>{"w:b", "o:b", "{lockset}:shared:b", "w:c", "o:c",
                                             "{lockset}:shared:c"}));
}

// Their grants don't even look: the short way is open to them, although others are observed.
TEST_F(RedisObserving, OtherNamesGoTheShortWay) {
  if (!start()) return;
  Client c = client();
  c.observe_one("observed");
  write_once(c, "opens the short way");
  admin().say({"HSET", "{lockset}", "seen", std::to_string(now_us() + 60'000'000)});
  // The long way begins with INFO.
  const auto looks = [&](const std::string& name) {
    admin().say({"CONFIG", "RESETSTAT"});
    write_once(c, name);
    return says(admin().text({"INFO", "commandstats"}), "cmdstat_info:");
  };
  EXPECT_FALSE(looks("other"));
  EXPECT_TRUE(looks("observed"));
}

// An observation of a known name is not written down, nor sent to replicas.
TEST_F(RedisObserving, ALookWritesNothing) {
  if (!start()) return;
  Client c = client();
  c.observe({"a", "b"});
  const auto changes = [&] { return admin().info("rdb_changes_since_last_save"); };
  const std::string before = changes();
  c.observe({"a", "b"});
  EXPECT_EQ(changes(), before);
  c.observe({"a", "new"});
  EXPECT_NE(changes(), before);
}

// SEM 27: the label is the last of several texts in a hold's record.
TEST_F(RedisObserving, ALabelMayHaveAnyBytes) {
  if (!start()) return;
  Client c = client("we;ird, 3:app");
  c.observe_one("a");
  const std::string label("l\n;3:1,\0 x", 10);
  c.set_label(label);
  write_once(c, "a");
  EXPECT_EQ(client().observe_one("a").label, label);
}

// SEM 14, 28: the hold that it meets is its own
TEST_F(RedisObserving, ARequestThatIsDeliveredTwiceIsGrantedOnce) {
  if (!start()) return;
  Client c = client();
  const Trace seen = c.observe_one("a");
  const test::Ask ask{.token = Token::random(), .unchanged_since = {{0, seen.last_write}}};
  EXPECT_EQ(c.take({write("a")}, ask).stamp, c.take({write("a")}, ask).stamp);
}

// SEM 5, 27: also where stamps are ahead of the clock
TEST_F(RedisObserving, TheStampOfANewTraceIsLaterThanAll) {
  if (!start()) return;
  Client c = client();
  c.change(RaiseStampBase{Stamp{now_us() + 3'600'000'000}});
  const Stamp first = c.take({write("x")}).stamp;
  const Trace trace = c.observe_one("a");
  EXPECT_GT(trace.last_write, first);
  EXPECT_EQ(field("last"), std::to_string(trace.last_write.value));
  EXPECT_GT(c.take({write("y")}).stamp, trace.last_write);
}

// SEM 8: at the end of the stamps
TEST_F(RedisObserving, WithoutStampsNothingNewIsObserved) {
  if (!start()) return;
  Client c = client();
  c.observe_one("a");
  const std::vector<std::string> names{"a"};
  const std::vector<std::string> more{"a", "b"};
  admin().say({"HSET", "{lockset}", "last", "9007199254740991"});
  EXPECT_TRUE(c.backend().observe({names, c.config().version, soon()}));
  const std::string message =
      failed(c.backend().observe({more, c.config().version, soon()}), Errc::misconfigured);
  EXPECT_TRUE(says(message, "2^53")) << message;
  EXPECT_EQ(field("w:b"), "");
}

// --- expired holds ---

// SEM 27: nobody else asks for the name; whoever waits for it is woken
TEST_F(RedisObserving, AnObservationRemovesWhatHasExpired) {
  if (!start()) return;
  Client c = client();
  c.set_permits("a", Mode::write, 2);
  c.observe_one("a");
  c.take({write("a"), read("x")});
  const Grant last = c.take({write("a")});
  Client waiter = client("waiter");
  const Busy busy = waiter.meet_busy({read("a")}, {.will_wait = true});
  const auto woken = [&] {
    return admin().say({"HVALS", "{lockset}:waiters"}).list.at(0).text.substr(16, 16);
  };
  EXPECT_TRUE(c.observe_one("a").being_written);
  EXPECT_EQ(woken(), std::string(16, '0'));
  end_leases();
  const Trace trace = c.observe_one("a");
  EXPECT_FALSE(trace.being_written);
  EXPECT_EQ(trace.last_write, last.stamp);
  EXPECT_NE(woken(), std::string(16, '0')) << "when it was woken, by the store's clock";
  EXPECT_EQ(admin().number({"EXISTS", "{lockset}:name:a"}), 0);
  EXPECT_EQ(admin().number({"ZCARD", "{lockset}:shared:a"}), 1) << "the mark";
  waiter.backend().end_wait(*busy.ticket, soon());
}

// A writer whose lease has ended is removed, and one behind it still counts.
TEST_F(RedisObserving, AnyLiveWriterCounts) {
  if (!start()) return;
  Client c = client();
  c.set_permits("a", Mode::write, 3);
  const Grant first = c.take({write("a")});
  const Grant second = c.take({write("a")});
  const Grant third = c.take({write("a")});
  for (const Stamp dead : {first.stamp, third.stamp}) {
    admin().say({"ZADD", "{lockset}:leases", "XX", "1", std::to_string(dead.value)});
    EXPECT_TRUE(c.observe_one("a").being_written);
  }
  EXPECT_TRUE(c.release(second.stamp));
  EXPECT_FALSE(c.observe_one("a").being_written);
}

// More than one step should tidy up
TEST_F(RedisObserving, ManyDeadWritersAreRemovedInParts) {
  if (!start()) return;
  admin().say({"EVAL",
               "for i = 1, 5000 do redis.call('ZADD', '{lockset}:shared:a', -i, i) end return 1",
               "0"});
  EXPECT_FALSE(client().observe_one("a").being_written);
  EXPECT_EQ(admin().number({"ZCARD", "{lockset}:shared:a"}), 1);
}

// --- the mark stands among the readers ---

// SEM 4: it takes nobody's place, and a reader does not remove it
TEST_F(RedisObserving, TheMarkIsNoReader) {
  if (!start()) return;
  Client c = client();
  c.set_permits("a", Mode::read, 1);
  const Trace seen = c.observe_one("a");
  const Grant reader = c.take({read("a")});
  EXPECT_EQ(reader.floors.at(0), reader.stamp);
  EXPECT_EQ(c.meet_busy({read("a")}).holder, reader.stamp);
  EXPECT_EQ(c.meet_busy({write("a")}).holder, reader.stamp);
  EXPECT_EQ(c.inspect({.match = InspectQuery::Match::name, .text = "a"}).holds.size(), 1U);
  EXPECT_TRUE(c.release(reader.stamp));
  EXPECT_EQ(c.observe_one("a").last_write, seen.last_write);
  c.take({write("a")}, {.unchanged_since = {{0, seen.last_write}}});
}

// SEM 4: where readers are so many that only some are looked at
TEST_F(RedisObserving, TheMarkStaysAmongManyReaders) {
  if (!start()) return;
  Client c = client();
  c.set_permits("a", Mode::read, 70);
  const Trace seen = c.observe_one("a");
  for (int i = 0; i < 70; ++i) c.take({read("a")});
  for (int i = 0; i < 70; ++i) c.meet_busy({read("a")});
  EXPECT_EQ(c.observe_one("a").last_write, seen.last_write);
}

// --- losses ---

// SEM 20, 27: a write may be among what was lost
TEST_F(RedisObserving, AfterFlushallAllHasChanged) {
  if (!start()) return;
  Client c = client();
  const Trace seen = c.observe_one("a");
  admin().say({"FLUSHALL"});
  pass_quarantine(c);
  expect_changed(c, seen);
}

// SEM 20, 27: the trace has not changed, and the last grants may be missing
TEST_F(RedisObserving, AfterARestartAllHasChanged) {
  if (!start_own()) return;
  Client c = client();
  const Trace seen = c.observe_one("a");
  const std::string kept = field("w:a");
  EXPECT_EQ(c.observe_one("a").last_write, seen.last_write);
  server().restart();
  reconnect();
  EXPECT_EQ(field("w:a"), kept) << "it was not kept";
  Client newcomer = client();
  pass_quarantine(newcomer);
  expect_changed(newcomer, seen);
}

// SEM 20, 27: a dump has the trace as it was before the write
TEST_F(RedisObserving, AfterAnOlderDumpAllHasChanged) {
  if (!start()) return;
  Client c = client();
  const Trace seen = c.observe_one("a");
  std::vector<std::vector<std::string>> dump;
  for (const test::RawReply& key : admin().say({"KEYS", "{lockset}*"}).list) {
    dump.push_back({"RESTORE", key.text, "0", admin().text({"DUMP", key.text})});
  }
  write_once(c, "a");
  admin().say({"FLUSHALL"});
  for (const std::vector<std::string>& key : dump) admin().say(key);
  Client newcomer = client();
  pass_quarantine(newcomer);
  expect_changed(newcomer, seen);
}

// SEM 20, 27: the same server was a replica for a while; another one may have granted meanwhile
TEST_F(RedisObserving, AfterAPromotionAllHasChanged) {
  if (!start_own()) return;
  Client c = client();
  const Trace seen = c.observe_one("a");
  admin().say({"REPLICAOF", "127.0.0.1", "1"});
  admin().say({"REPLICAOF", "NO", "ONE"});
  pass_quarantine(c);
  expect_changed(c, seen);
}

// SEM 20, 27: the condition of an acquire that waited through the loss
TEST_F(RedisObserving, AfterALossAConditionIsBroken) {
  if (!start()) return;
  Client c = client();
  const Trace seen = c.observe_one("a");
  const std::vector<Expected> condition{{0, seen.last_write}};
  admin().say({"HSET", "{lockset}", "run", "another process"});
  const Result<AcquireOutcome> outcome = c.ask({write("a")}, {.unchanged_since = condition});
  ASSERT_FALSE(outcome) << test::describe(outcome);
  EXPECT_EQ(outcome.error().code, Errc::unavailable) << outcome.error().message;
  pass_quarantine(c);
  c.meet_changed({write("a")}, {.unchanged_since = condition});
}

// SEM 5, 20, 27: Stamps are ahead of the clock. Whoever puts the space back has not seen the last
// ones, and none of them comes again.
TEST_F(RedisObserving, AfterALossNoStampComesAgain) {
  if (!start()) return;
  Client late = client("late");
  late.change(RaiseStampBase{Stamp{now_us() + 3'600'000'000}});
  late.take({write("x")});
  Client c = client();
  const Stamp lost = c.take({write("y")}).stamp;
  const Trace seen = c.observe_one("a");
  admin().say({"FLUSHALL"});
  pass_quarantine(late);
  const Trace now = late.observe_one("a");
  EXPECT_GT(now.last_write, seen.last_write);
  const Stamp next = late.take({write("y")}).stamp;
  EXPECT_GT(next, lost);
  admin().say({"HSET", "{lockset}", "run", "another process"});
  pass_quarantine(late);
  EXPECT_GT(late.take({write("z")}).stamp.value, next.value + 100'000'000);
}

// SEM 20, 27: a hold that was lost is seen as soon as anything can be observed
TEST_F(RedisObserving, AHoldThatIsRegisteredAgainIsSeen) {
  if (!start()) return;
  Client c = client();
  Client holder = client("holder");
  c.observe_one("a");
  const Grant grant = holder.take({write("a")});
  admin().say({"FLUSHALL"});
  EXPECT_TRUE(holder.renew(grant.stamp, 1min));
  pass_quarantine(c);
  const Trace during = c.observe_one("a");
  EXPECT_TRUE(during.being_written);
  EXPECT_GT(during.last_write, grant.stamp);
  EXPECT_TRUE(holder.release(grant.stamp));
  EXPECT_FALSE(c.observe_one("a").being_written);
}

// --- programs of an older version, which know no traces ---

class OlderProgram {
 public:
  explicit OlderProgram(RawRedis& admin) : admin_(admin), text_(redis::scripts::acquire.text()) {
    put("'(+inf'", "'+inf'");
    put("if one ~= mark then is_there(i, one) end", "is_there(i, one)");
    put("\n  leave_traces()\n", "\n");
  }
  // 'G' if it was granted.
  std::string acquire(const LockRequest& item, std::uint32_t permits = 1'000'000) {
    const Token token = Token::random();
    const std::vector<LockRequest> items{item};
    const auto field = [&](const char* name) { return admin_.text({"HGET", "{lockset}", name}); };
    const std::string version = field("version");
    const test::RawReply reply =
        admin_.say({"EVAL", text_, "7", "{lockset}", "{lockset}:leases", "{lockset}:waiters",
                    "{lockset}:name:" + item.name, "{lockset}:shared:" + item.name,
                    "{lockset}:wait:" + item.name, "{lockset}:here",
                    field("run") + " " + field("born") + " " + version, version, field("last"),
                    "60000000", "120000", "t:" + token.hex(),
                    redis::pack(token, {"older", "1", 0, "older"}, items), redis::modes_of(items),
                    "1 " + version + " 0 0 0 4294967295 " + std::to_string(permits) + ", "});
    return reply.list.empty() ? "G" : reply.list.at(0).text;
  }

 private:
  void put(const std::string& what, const std::string& with) {
    std::size_t at = text_.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    for (; at != std::string::npos; at = text_.find(what, at)) text_.replace(at, what.size(), with);
  }

  RawRedis& admin_;
  std::string text_;
};

// SEM 27: its write removes the trace, so nobody takes the name for unchanged
TEST_F(RedisObserving, AWriteOfAnOlderProgramIsAChange) {
  if (!start()) return;
  Client c = client();
  OlderProgram older(admin());
  const Trace seen = c.observe_one("a");
  ASSERT_EQ(older.acquire(write("a")), "G");
  EXPECT_TRUE(c.observe_one("a").being_written);
  for (const HoldInfo& hold : c.holds()) EXPECT_TRUE(c.break_hold(hold.stamp));
  const Trace then = c.observe_one("a");
  EXPECT_NE(then.last_write, seen.last_write);
  EXPECT_FALSE(then.being_written);
  // The same for a condition.
  ASSERT_EQ(older.acquire(write("a")), "G");
  EXPECT_FALSE(
      c.meet_changed({write("a")}, {.unchanged_since = {{0, then.last_write}}}).trace.last_write);
}

// SEM 4, 27: it shares the names, and what it reads may count as a change, but never the reverse
TEST_F(RedisObserving, AnOlderProgramKeepsTheRules) {
  if (!start()) return;
  Client c = client();
  OlderProgram older(admin());
  c.observe_one("a");
  const Grant reader = c.take({read("a")});
  EXPECT_EQ(older.acquire(write("a")), "B");
  EXPECT_EQ(older.acquire(read("a")), "G");
  EXPECT_EQ(older.acquire(read("a"), 2), "B");
  c.meet_busy({write("a")});
  EXPECT_TRUE(c.release(reader.stamp));
  EXPECT_EQ(older.acquire(read("a"), 2), "G");
  EXPECT_FALSE(c.observe_one("a").being_written);
}

// --- the sweep ---

// SEM 27: not before it went unobserved for 7 days
TEST_F(RedisObserving, TracesStayForDaysAfterTheyWereObserved) {
  if (!start()) return;
  Client c = client();
  c.observe_one("a");
  const Grant grant = c.take({write("a")});
  ASSERT_TRUE(c.release(grant.stamp));
  let_pass("a", 24h * 6);
  EXPECT_EQ(c.backend().sweep_traces(trace_lifetime, soon()).value(), 0U);
  const Trace seen = c.observe_one("a");
  EXPECT_EQ(seen.last_write, grant.stamp);
  ASSERT_TRUE(seen.age_us);
  EXPECT_GE(*seen.age_us, std::chrono::microseconds(24h * 6).count());
  // From that observation on it counts anew.
  let_pass("a", 24h * 6);
  EXPECT_EQ(c.backend().sweep_traces(trace_lifetime, soon()).value(), 0U);
  let_pass("a", 24h);
  EXPECT_EQ(c.backend().sweep_traces(trace_lifetime, soon()).value(), 1U);
  EXPECT_EQ(traces(), std::set<std::string>());
  EXPECT_EQ(keys_of_holds(), 0U);
  EXPECT_GT(c.observe_one("a").last_write, grant.stamp);
}

// The second step of a sweep looks again, for the name may have been observed since the first.
TEST_F(RedisObserving, ANameThatIsObservedMeanwhileStays) {
  if (!start()) return;
  Client c = client();
  c.observe_one("a");
  const auto forget = [&](const std::string& unobserved_us) {
    const std::string version = field("version");
    const test::RawReply reply =
        admin().say({"EVAL", redis::scripts::forget.text(), "5", "{lockset}", "{lockset}:leases",
                     "{lockset}:waiters", "{lockset}:shared:a", "{lockset}:here",
                     field("run") + " " + field("born") + " " + version, version, field("last"),
                     unobserved_us});
    return reply.list.at(1).text;
  };
  EXPECT_EQ(forget("3600000000"), "0");
  EXPECT_EQ(traces().size(), 3U);
  EXPECT_EQ(forget("0"), "1");
  EXPECT_EQ(traces().size(), 0U);
}

// A space with more than one step looks at, among holds
TEST_F(RedisObserving, TracesAreSweptInParts) {
  if (!start()) return;
  Client c = client();
  c.take({write("held")});
  std::size_t made = 0;
  for (int round = 0; round < 10; ++round) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < max_set_size; ++i) {
      names.push_back("name " + std::to_string(100'000 + made++));
    }
    c.observe(names);
  }
  c.observe_one("kept");
  admin().say({"HINCRBY", "{lockset}", "o:kept", "3600000000"});
  std::size_t removed = 0;
  int calls = 0;
  while (const std::size_t some = c.backend().sweep_traces(Duration::zero(), soon()).value()) {
    EXPECT_LT(some, made);
    removed += some;
    ++calls;
  }
  EXPECT_GT(calls, 1);
  // A call may end where there is nothing left, and the next one begins anew.
  removed += c.backend().sweep_traces(Duration::zero(), soon()).value();
  EXPECT_EQ(removed, made);
  EXPECT_EQ(traces(), (std::set<std::string>{"w:kept", "o:kept", "{lockset}:shared:kept"}));
  EXPECT_EQ(c.holds().size(), 1U);
}

// --- a full server ---

// What was observed can be looked at, nothing new can, and nothing half is left.
TEST_F(RedisObserving, AFullServerMakesNoTraces) {
  if (!start()) return;
  Client c = client();
  const Trace seen = c.observe_one("a");
  const std::set<std::string> before = traces();
  const std::vector<std::string> names{"a", "b"};
  admin().say({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_EQ(c.observe_one("a").last_write, seen.last_write);
  const std::string message =
      failed(c.backend().observe({names, c.config().version, soon()}), Errc::unavailable);
  EXPECT_TRUE(says(message, "maxmemory")) << message;
  EXPECT_EQ(traces(), before);
  admin().say({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_EQ(c.observe({"a", "b"}).at(0).last_write, seen.last_write);
}

}  // namespace
}  // namespace lockset::redis_tests
