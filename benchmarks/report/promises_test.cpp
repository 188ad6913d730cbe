#include "benchmarks/report/promises.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <stdexcept>

namespace lockset::bench {
namespace {

Json spread_of(double median) {
  return {{"median", median}, {"low", median * 0.9}, {"high", median * 1.1}};
}

// Results with one space, and one measurement of Lockset.
class Sample {
 public:
  explicit Sample(const std::string& url, const std::string& id = "store") {
    json_ = {{"lockset", "0.1.0"}, {"measurements", Json::array()}};
    json_["spaces"] = {{{"id", id}, {"url", url}, {"settings", Json::object()}}};
    id_ = id;
  }

  Json& measure(const std::string& workload, const Json& more) {
    Json m = {{"workload", workload}, {"space", id_},   {"rival", "lockset"}, {"role", "lockset"},
              {"clients", 1},         {"processes", 1}, {"names", 1},         {"holds", 0}};
    m["repetitions"] = Json(5, Json::object());
    m.update(more);
    json_["measurements"].push_back(m);
    return json_["measurements"].back();
  }

  // Fails unless there is exactly one.
  [[nodiscard]] Promise promise(const std::string& id, Unit unit) const {
    std::optional<Promise> found;
    for (const Promise& promise : judge(read_results(json_))) {
      if (promise.id != id || promise.unit != unit) continue;
      EXPECT_FALSE(found) << id << " twice";
      found = promise;
    }
    if (!found) throw std::runtime_error("there is no " + id);
    return *found;
  }
  [[nodiscard]] bool has(const std::string& id) const {
    const auto all = judge(read_results(json_));
    return std::any_of(all.begin(), all.end(), [&](const Promise& p) { return p.id == id; });
  }

  Json json_;

 private:
  std::string id_;
};

Verdict share_verdict(const std::string& url, double ratio) {
  Sample run(url);
  run.measure("uncontended", {{"ratio", spread_of(ratio)}});
  return run.promise("P1", Unit::share).verdict;
}

TEST(Promises, MoreIsBetterForAShare) {
  EXPECT_EQ(share_verdict("redis://h/0", 0.9), Verdict::aim);
  EXPECT_EQ(share_verdict("redis://h/0", 0.85), Verdict::aim);
  EXPECT_EQ(share_verdict("redis://h/0", 0.849), Verdict::must);
  EXPECT_EQ(share_verdict("redis://h/0", 0.6), Verdict::must);
  EXPECT_EQ(share_verdict("redis://h/0", 0.599), Verdict::missed);
}

TEST(Promises, OnlyLocksetIsJudged) {
  Sample run("redis://h/0");
  run.measure("uncontended", {{"ratio", spread_of(2)}, {"role", "native"}, {"rival", "SET NX"}});
  EXPECT_EQ(run.promise("P1", Unit::share).verdict, Verdict::not_measured);
}

TEST(Promises, EightNamesAreAskedForNotSixtyFour) {
  Sample run("redis://h/0");
  run.measure("set-size", {{"names", 64}, {"cost", spread_of(9)}});
  run.measure("set-size", {{"names", 8}, {"cost", spread_of(1.6)}});
  const Promise promise = run.promise("P2", Unit::times);
  EXPECT_EQ(promise.verdict, Verdict::must);
  EXPECT_DOUBLE_EQ(promise.measured->median, 1.6);
  EXPECT_DOUBLE_EQ(promise.measured->low.value(), 1.44);
  EXPECT_EQ(promise.repetitions, 5U);
}

TEST(Promises, SixteenClientsByStore) {
  const std::map<std::string, double> musts{
      {"postgresql://h/d", 0.45}, {"mysql://h/d", 0.45},    {"sqlite:///f", 0.45},
      {"redis://h/0", 0.55},      {"zookeeper://h/", 0.55},
  };
  for (const auto& [url, must] : musts) {
    Sample run(url);
    run.measure("disjoint", {{"clients", 16}, {"ratio", spread_of(0.7)}});
    EXPECT_EQ(run.promise("P3", Unit::share).note, "threads of one process");
    run.measure("disjoint", {{"clients", 4}, {"processes", 4}, {"ratio", spread_of(0.1)}});
    run.measure("disjoint", {{"clients", 16}, {"processes", 16}, {"ratio", spread_of(0.5)}});
    const Promise promise = run.promise("P3", Unit::share);
    EXPECT_EQ(promise.must, must) << url;
    EXPECT_DOUBLE_EQ(promise.measured->median, 0.5) << "processes come first";
    EXPECT_EQ(promise.note, "16 processes");
  }
}

TEST(Promises, InternalRetriesByStrategy) {
  for (const std::string strategy : {"serializable", "advisory"}) {
    Sample run("postgresql://h/d?strategy=" + strategy, "postgresql " + strategy);
    run.measure(
        "disjoint",
        {{"clients", 16}, {"processes", 16}, {"events", {{"granted", 1000}, {"collided", 30}}}});
    const Promise promise = run.promise("P3", Unit::percent);
    EXPECT_DOUBLE_EQ(promise.measured->median, 0.03);
    EXPECT_FALSE(promise.measured->low);
    EXPECT_EQ(promise.verdict, strategy == "advisory" ? Verdict::missed : Verdict::must);
  }
}

TEST(Promises, HandOverIsPromisedWhereTheStorePushes) {
  const std::map<std::string, bool> pushes{
      {"postgresql://h/d", true}, {"postgresql://h/d?listen=off", false},
      {"mysql://h/d", true},      {"postgresql://h/d?pooler=on&listen=on", true},
      {"sqlite:///f", true},      {"postgresql://h/d?pooler=on", false},
      {"redis://h/0", true},      {"zookeeper://h/", true},
      {"memory://m", true},
  };
  for (const auto& [url, pushed] : pushes) {
    Sample run(url);
    run.measure("contended", {{"clients", 200}, {"handover_cost", spread_of(30)}});
    run.measure("contended", {{"clients", 8}, {"handover_cost", spread_of(3)}});
    EXPECT_EQ(run.promise("P4", Unit::times).verdict, pushed ? Verdict::must : Verdict::none)
        << url;
    EXPECT_DOUBLE_EQ(run.promise("P4", Unit::times).measured->median, 3);
  }
}

TEST(Promises, AFullStoreMustBeFull) {
  Sample run("redis://h/0");
  run.measure("many-held", {{"holds", 1'000'000}, {"cost", spread_of(1.2)}});
  run.measure("many-held", {{"holds", 100'000}, {"cost", spread_of(1.0)}});
  EXPECT_EQ(run.promise("P5", Unit::times).verdict, Verdict::must);
  EXPECT_EQ(run.promise("P5", Unit::times).note, "1,000,000 holds");

  run.json_["measurements"].erase(0);
  EXPECT_EQ(run.promise("P5", Unit::times).verdict, Verdict::not_measured);
  EXPECT_DOUBLE_EQ(run.promise("P5", Unit::times).measured->median, 1.0);
  EXPECT_EQ(run.promise("P5", Unit::times).note, "100,000 of 1,000,000");

  Sample zookeeper("zookeeper://h/");
  zookeeper.measure("many-held", {{"holds", 20'000}, {"cost", spread_of(1.4)}});
  EXPECT_EQ(zookeeper.promise("P5", Unit::times).verdict, Verdict::missed);
}

TEST(Promises, RenewalIsTwoPromises) {
  Sample run("mysql://h/d");
  run.measure("renewal",
              {{"holds", 10'000}, {"cpu_share", spread_of(0.015)}, {"slowdown", spread_of(2.5)}});
  EXPECT_EQ(run.promise("P6", Unit::percent).verdict, Verdict::must);
  EXPECT_EQ(run.promise("P6", Unit::times).verdict, Verdict::missed);
  run.json_["measurements"][0]["holds"] = 1000;
  EXPECT_EQ(run.promise("P6", Unit::percent).verdict, Verdict::not_measured);
  EXPECT_EQ(run.promise("P6", Unit::times).verdict, Verdict::not_measured);
}

TEST(Promises, AttemptsAreBoundedWhereTheStoreQueues) {
  for (const std::string url : {"redis://h/0", "mysql://h/d", "memory://m"}) {
    Sample run(url);
    run.measure("contended", {{"clients", 200}, {"attempts_per_grant", 4.5}});
    EXPECT_EQ(run.promise("P7", Unit::count).verdict,
              url == "memory://m" ? Verdict::none : Verdict::missed);
  }
}

TEST(Promises, FairnessIsPromisedWhereTheStoreQueues) {
  for (const std::string url : {"redis://h/0", "mysql://h/d", "postgresql://h/d?listen=off"}) {
    const bool queues = !url.ends_with("listen=off");
    Sample run(url);
    run.measure("contended", {{"clients", 8}, {"fairness", {{"least", 60}, {"most", 100}}}});
    EXPECT_EQ(run.promise("P9", Unit::share).verdict, queues ? Verdict::must : Verdict::none);
    EXPECT_DOUBLE_EQ(run.promise("P9", Unit::share).measured->median, 0.6);
    run.json_["measurements"][0]["fairness"]["least"] = 49;
    EXPECT_EQ(run.promise("P9", Unit::share).verdict, queues ? Verdict::missed : Verdict::none);
  }
}

// The two rules of a promise with the same unit are told apart by their text.
Promise promise_about(const Sample& run, const std::string& what) {
  std::optional<Promise> found;
  for (const Promise& promise : judge(read_results(run.json_))) {
    if (promise.what == what) found = promise;
  }
  if (!found) throw std::runtime_error("there is no promise: " + what);
  return *found;
}

TEST(Promises, NobodyStarvesWhereTheStoreQueues) {
  const std::string set = "a set of 8 among singles: longest wait";
  const std::string writer = "a writer among readers: longest wait";
  for (const std::string url : {"sqlite:///f", "mysql://h/d", "postgresql://h/d?listen=off"}) {
    const bool queues = !url.ends_with("listen=off");
    Sample run(url);
    EXPECT_EQ(promise_about(run, set).verdict, queues ? Verdict::not_measured : Verdict::none);
    run.measure("starving", {{"among", "singles"}, {"longest_wait_us", 1.9e6}});
    run.measure("starving", {{"among", "readers"}, {"longest_wait_us", 2.1e6}});
    EXPECT_DOUBLE_EQ(promise_about(run, set).measured->median, 1900);
    EXPECT_EQ(promise_about(run, set).verdict, queues ? Verdict::must : Verdict::none);
    EXPECT_DOUBLE_EQ(promise_about(run, writer).measured->median, 2100);
    EXPECT_EQ(promise_about(run, writer).verdict, queues ? Verdict::missed : Verdict::none);
  }
  EXPECT_THROW(promise_about(Sample("memory://m"), set), std::runtime_error);
}

TEST(Promises, TheNextGrantAfterAKill) {
  const std::string holder = "kill -9 of the holder to the next grant";
  const std::string command = "kill -9 of lockset run to the next grant";
  struct Bound {
    std::string url;
    std::optional<double> must;
  };
  for (const auto& [url, must] : std::vector<Bound>{{"sqlite:///f", 100},
                                                    {"redis://h/0", {}},
                                                    {"postgresql://h/d?strategy=advisory", {}},
                                                    {"postgresql://h/d?strategy=session", 1000},
                                                    {"mysql://h/d?strategy=session", 1000}}) {
    Sample run(url);
    EXPECT_EQ(promise_about(run, command).verdict, Verdict::not_measured) << url;
    run.measure("crash", {{"rival", "lockset run"}, {"recovery_ms", spread_of(101)}});
    EXPECT_EQ(promise_about(run, command).verdict, Verdict::missed) << url;
    EXPECT_FALSE(promise_about(run, holder).measured) << "another holder's number";
    run.json_["measurements"][0]["recovery_ms"] = spread_of(99);
    EXPECT_EQ(promise_about(run, command).verdict, Verdict::must) << url;

    run.measure("crash", {{"recovery_ms", spread_of(must.value_or(100) + 1)}});
    EXPECT_EQ(promise_about(run, holder).must, must) << url;
    EXPECT_EQ(promise_about(run, holder).verdict, must ? Verdict::missed : Verdict::none) << url;
    EXPECT_EQ(promise_about(run, holder).note, must ? "" : "when the lease ends");
    run.json_["measurements"][1]["recovery_ms"] = spread_of(must.value_or(100) - 1);
    EXPECT_EQ(promise_about(run, holder).verdict, must ? Verdict::must : Verdict::none) << url;
  }
  EXPECT_FALSE(Sample("memory://m").has("P10"));
}

TEST(Promises, SessionLocksAreComparedWithTheNativeOnesTurnByTurn) {
  const auto rates = [](const std::vector<double>& all) {
    Json list = Json::array();
    for (const double rate : all) list.push_back({{"per_second", rate}});
    return list;
  };
  Sample run("postgresql://h/d?strategy=session");
  run.measure("uncontended", {{"role", "floor"}, {"repetitions", rates({9, 9, 9})}});
  run.measure("uncontended", {{"role", "native"},
                              {"rival", "pg_advisory_lock"},
                              {"repetitions", rates({100, 200, 1000})}});
  EXPECT_EQ(run.promise("P12", Unit::share).verdict, Verdict::not_measured);
  run.measure("uncontended", {{"repetitions", rates({70, 138, 800})}});
  const Promise kept = run.promise("P12", Unit::share);
  EXPECT_DOUBLE_EQ(kept.measured->median, 0.7);
  EXPECT_DOUBLE_EQ(kept.measured->low.value(), 0.69);
  EXPECT_DOUBLE_EQ(kept.measured->high.value(), 0.8);
  EXPECT_EQ(kept.verdict, Verdict::must);
  EXPECT_EQ(kept.repetitions, 3U);
  EXPECT_EQ(kept.note, "pg_advisory_lock");
  run.json_["measurements"][2]["repetitions"] = rates({69, 138, 800});
  EXPECT_EQ(run.promise("P12", Unit::share).verdict, Verdict::missed);
  EXPECT_FALSE(Sample("postgresql://h/d?strategy=advisory").has("P12"));
}

TEST(Promises, MemoryIsMeasuredByTheClock) {
  Sample run("memory://m");
  run.measure("uncontended", {{"per_second", {{"median", 1e6}, {"low", 0.5e6}, {"high", 4e6}}}});
  const Promise promise = run.promise("P8", Unit::microseconds);
  EXPECT_DOUBLE_EQ(promise.measured->median, 1);
  EXPECT_DOUBLE_EQ(promise.measured->low.value(), 0.25);
  EXPECT_DOUBLE_EQ(promise.measured->high.value(), 2);
  EXPECT_EQ(promise.verdict, Verdict::must);
  EXPECT_FALSE(run.has("P1")) << "memory has no floor";
  EXPECT_FALSE(Sample("redis://h/0").has("P8"));
}

TEST(Promises, WithoutMeasurementsNothingIsMeasured) {
  const Sample run("redis://h/0");
  const std::vector<Promise> all = judge(read_results(run.json_));
  EXPECT_EQ(all.size(), 15U);
  for (const Promise& promise : all) {
    // What is not promised here stays so.
    EXPECT_EQ(promise.verdict, promise.must ? Verdict::not_measured : Verdict::none)
        << promise.what;
  }
}

TEST(Promises, PartsOfTheWrongKindAreLeftOut) {
  Sample run("redis://h/0");
  run.measure("uncontended", {{"ratio", "fast"}, {"clients", -1}, {"repetitions", 7}});
  run.json_["measurements"].push_back("nonsense");
  run.json_["failures"] = 3;
  run.json_["method"] = Json::array();
  EXPECT_EQ(run.promise("P1", Unit::share).verdict, Verdict::not_measured);
  EXPECT_THROW((void)read_results(Json::array()), std::runtime_error);
  EXPECT_THROW((void)read_results(Json{{"name", "something else"}}), std::runtime_error);
}

TEST(Promises, AreWrittenAsTheReadersOfTheJsonExpect) {
  Sample run("redis://h/0");
  run.measure("uncontended", {{"ratio", {{"median", 0.7}, {"low", 0.65}, {"high", 0.75}}}});
  const Json list = promises(run.json_);
  const Json expected = {{"promise", "P1"},
                         {"what", "one client: share of the floor's throughput"},
                         {"space", "store"},
                         {"unit", "share"},
                         {"must", 0.6},
                         {"aim", 0.85},
                         {"measured", {{"median", 0.7}, {"low", 0.65}, {"high", 0.75}}},
                         {"better", "more"},
                         {"verdict", "must"},
                         {"repetitions", 5},
                         {"note", ""}};
  EXPECT_EQ(list[0], expected) << list[0];
  EXPECT_EQ(list[1]["measured"], nullptr);
  EXPECT_EQ(list[1]["verdict"], "not measured");
}

TEST(Promises, OfTheSampleAreSorted) {
  std::ifstream file(LOCKSET_BENCH_SAMPLE);
  const Json list = promises(Json::parse(file));
  ASSERT_FALSE(list.empty());
  for (std::size_t i = 1; i < list.size(); ++i) {
    const auto number = [&](std::size_t at) {
      return std::stoi(list[at]["promise"].get<std::string>().substr(1));
    };
    EXPECT_LE(number(i - 1), number(i));
  }
}

}  // namespace
}  // namespace lockset::bench
