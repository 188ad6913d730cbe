// Each fault has an effect, and its effect is over after its end.
#include <gtest/gtest.h>

#include <cctype>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "tests/chaos/stores/prober.h"
#include "tests/chaos/stores/store.h"
#include "tests/support/client.h"
#include "tests/support/requirement.h"
#include "tests/support/seed.h"
#include "tests/support/wait.h"

namespace lockset::chaos {
namespace {

using namespace std::chrono_literals;
using test::eventually;

// With these, a worker that keeps asking is refused, or gets no answer in time.
const std::set<std::string> harsh{
    "net-cut",     "net-late",        "net-reset",       "net-half-close", "net-black-hole",
    "net-refuse",  "server-kill",     "server-stop",     "server-pause",   "server-pause-long",
    "write-lock",  "write-lock-long", "disk-full",       "rows-locked",    "restart-empty",
    "flushall",    "demoted",         "net-slow",        "leader-deposed", "no-quorum",
    "leader-kill", "leader-pause",    "partition-leader"};

// The first number in a text.
std::optional<int> number_in(const std::string& text) {
  const std::size_t at = text.find_first_of("0123456789");
  if (at == std::string::npos) return {};
  return std::stoi(text.substr(at));
}

// "on 1 of 3 ways": the prober may use another one. "end of 0 sessions": it had none just then. "by
// up to 310 ms": hardly later than the prober waits.
bool misses(const std::string& what) {
  if (what.starts_with("end of 0 ")) return true;
  const std::size_t late = what.find(" by up to ");
  if (late != std::string::npos && *number_in(what.substr(late)) < 2 * (Prober::limit / 1ms)) {
    return true;
  }
  const std::size_t at = what.rfind(" on ");
  const std::size_t of = what.rfind(" of ");
  return at != std::string::npos && of != std::string::npos && at < of &&
         number_in(what.substr(at)) != number_in(what.substr(of));
}

class ChaosStore : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const auto why = Store::unavailable(GetParam());
    const std::string kind = GetParam().substr(0, GetParam().find(':'));
    if (why && kind != "sqlite" && !test::have_server(kind)) GTEST_SKIP() << *why;
    store_ = Store::start(GetParam(), {.proxies = 1});
    ASSERT_TRUE(store_->missing().empty()) << store_->missing().front();
  }

  void strike(Fault& fault, Prober& prober);
  [[nodiscard]] bool well(Prober& prober) {
    prober.forget();
    return eventually([&] { return prober.seen().good >= 3; }, 30s);
  }

  std::unique_ptr<Store> store_;
  Dice dice_{test::test_seed()};
};

void ChaosStore::strike(Fault& fault, Prober& prober) {
  ASSERT_TRUE(well(prober)) << "not well before it: " << prober.seen().last_error;
  std::string what = fault.begin(dice_);
  EXPECT_TRUE(eventually([&] {
    if (!misses(what)) return true;
    fault.end();
    EXPECT_TRUE(well(prober));
    what = fault.begin(dice_);
    return false;
  }));
  prober.forget();
  if (harsh.contains(fault.name)) {
    EXPECT_TRUE(eventually([&] { return prober.seen().bad > 0; })) << "nobody notices";
  } else if (fault.name == "net-delay") {
    ASSERT_TRUE(eventually([&] { return prober.seen().good + prober.seen().bad >= 3; }));
    EXPECT_GE(prober.seen().quickest, 20ms);
  } else if (fault.name == "connections-used-up") {
    // Existing connections continue.
    EXPECT_TRUE(eventually([&] { return !open_backend(store_->worker_url(0), test::soon()); }));
  } else if (what.starts_with("end of ")) {
    EXPECT_GE(number_in(what).value_or(0), 1) << what;
  }
  if (fault.hits) {
    EXPECT_TRUE(eventually([&] { return fault.hits() > 0; }, 30s)) << "it does nothing";
  }
  const Prober::Seen seen = prober.seen();
  std::cout << fault.name << ": " << what << "; " << seen.good << " good, " << seen.bad << " bad, "
            << seen.busy << " busy, " << seen.slowest / 1ms << " ms"
            << (seen.bad > 0 ? ", " + seen.last_error : "") << "\n";
  fault.end();
  fault.end();  // harmless
}

TEST_P(ChaosStore, EachFaultBites) {
  Prober prober(store_->worker_url(0));
  for (Fault& fault : store_->faults()) {
    if (fault.also == "restore") continue;  // below
    SCOPED_TRACE(fault.name);
    fault.end();
    strike(fault, prober);
    if (HasFatalFailure()) return;
  }
  store_->settle();
  EXPECT_TRUE(well(prober)) << prober.seen().last_error;
}

// The events about permits and restores, in order: "begin", "other 1/5", "end".
std::vector<std::string> told(const std::vector<history::What>& events) {
  std::vector<std::string> lines;
  for (const history::What& what : events) {
    if (std::holds_alternative<history::RestoreBegin>(what)) lines.emplace_back("begin");
    if (std::holds_alternative<history::RestoreEnd>(what)) lines.emplace_back("end");
    if (const auto* change = std::get_if<history::PermitsEnd>(&what)) {
      lines.push_back(change->name + " " + std::to_string(change->read) + "/" +
                      std::to_string(change->write));
    }
  }
  return lines;
}

TEST_P(ChaosStore, ARestoreTakesTheSpaceBackAndSaysSo) {
  if (GetParam().ends_with(":session"))
    GTEST_SKIP() << "it has no restores: all clients of sessions have to be closed for one";
  std::vector<history::What> events;
  store_->record_with([&](TimePoint, history::What what) { events.push_back(std::move(what)); });
  const auto open = [&] {
    return std::make_unique<test::Client>(
        std::shared_ptr(open_backend(store_->direct_url(), test::soon()).value()));
  };
  // Living clients of Redis restore the configuration; and it grants nothing for a while.
  const bool quarantine = GetParam() == "redis";
  bool wiped = false;
  for (Fault& fault : store_->faults()) {
    if (fault.also != "restore") continue;
    SCOPED_TRACE(fault.name);
    const bool back_up = fault.name == "restored";
    wiped = wiped || !back_up;
    events.clear();
    auto client = open();
    ASSERT_TRUE(eventually([&] { return client->ask({{"try", Mode::read}}, {.lease = 1s}).ok(); }));
    client->set_permits("changing", Mode::write, 7);
    client->set_permits("other", Mode::read, 4);
    test::Ask ask;
    ask.lease = quarantine ? 2s : 60s;
    const Stamp before = client->take({{fault.name, Mode::write}}, ask).stamp;
    if (back_up) fault.begin(dice_);
    const Stamp since = client->take({{"since", Mode::write}}, ask).stamp;
    client->set_permits("other", Mode::read, 5);
    client->release(before);
    // MySQL's stamps may be a second behind its clock.
    test::linger(1200ms);
    if (quarantine) client.reset();
    if (back_up) {
      fault.end();
      fault.end();  // harmless
    } else {
      fault.begin(dice_);
      fault.end();
      fault.end();
    }
    if (!client) client = open();
    SpaceConfig config;
    ASSERT_TRUE(eventually([&] {
      Result<SpaceConfig> loaded = client->backend().load_config(test::soon());
      if (!loaded) return false;
      config = *std::move(loaded);
      return true;
    })) << "a client that lives on is not served";
    // From the backup, except later changes; or set again to the same value.
    EXPECT_EQ(config.permits_of("changing").read, 1U);
    EXPECT_EQ(config.permits_of("changing").write, 7U);
    EXPECT_EQ(config.permits_of("other").read, back_up ? 4U : 5U);
    if (!quarantine) {
      EXPECT_EQ(client->is_live(before), back_up);
      EXPECT_FALSE(client->is_live(since));
      client->reload();
      const Stamp again = client->take({{"since", Mode::write}}, ask).stamp;
      EXPECT_GT(again, since);
      client->release(again);
    }
    std::vector<std::string> expected;
    if (back_up) {
      expected = {"changing 1000/7", "begin", "changing 1/7", "other 4/1", "end", "changing 1/7"};
    } else {
      expected = {"begin", "changing 1/1", "other 1/1", "end", "changing 1/7", "other 5/1"};
      const std::vector<std::string> once = expected;
      expected.insert(expected.end(), once.begin(), once.end());
    }
    if (quarantine) expected.insert(expected.begin() + 2, "changing 1000/7");
    if (quarantine) expected.insert(expected.begin() + 4, "other 4/1");
    EXPECT_EQ(told(events), expected);
    client->set_permits("changing", Mode::read, {});
  }
  EXPECT_NE(wiped, quarantine);
  store_->record_with({});
}

TEST_P(ChaosStore, CountsWhatIsLeft) {
  {
    const std::shared_ptr<Backend> backend =
        open_backend(store_->worker_url(0), test::soon()).value();
    test::Client client(backend);
    test::Ask ask;
    // With strategy=session they end with their connection.
    ask.lease = GetParam().ends_with(":session") ? 60s : 2s;
    client.take({{"left", Mode::write}, {"also", Mode::read}}, ask);
    ask.will_wait = true;
    const Busy busy = client.meet_busy({{"left", Mode::write}}, ask);
    // MySQL's clients list their holds within a second (strategy=session).
    EXPECT_TRUE(eventually([&] { return store_->count().holds > 0; }));
    const Left left = store_->count();
    // MySQL keeps no waiters; with strategy=session a waiter that does not wait now stands nowhere.
    if (!GetParam().starts_with("m") && !GetParam().ends_with(":session")) {
      EXPECT_GT(left.waiters, 0U);
    }
    if (GetParam() != "sqlite") {
      EXPECT_GT(left.connections, 0U);
    }
    if (busy.ticket) backend->end_wait(*busy.ticket, test::soon());
  }
  store_->settle();
  const Left left = store_->left();
  EXPECT_EQ(left.holds, 0U);
  EXPECT_EQ(left.waiters, 0U);
  EXPECT_EQ(left.connections, 0U);
}

INSTANTIATE_TEST_SUITE_P(, ChaosStore, testing::ValuesIn(Store::names()), [](const auto& which) {
  std::string name = which.param;
  for (char& each : name) each = std::isalnum(static_cast<unsigned char>(each)) != 0 ? each : '_';
  return name;
});

}  // namespace
}  // namespace lockset::chaos
