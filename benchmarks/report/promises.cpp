#include "benchmarks/report/promises.h"

#include <algorithm>

#include "benchmarks/report/numbers.h"

namespace lockset::bench {
namespace {

// A promise, without the space that it applies to.
struct Rule {
  const char* id;
  const char* what;
  Unit unit;
  bool more_is_better;
};

constexpr Rule share_of_floor{"P1", "one client: share of the floor's throughput", Unit::share,
                              true};
constexpr Rule eight_names{"P2", "a set of 8 names: time in relation to 1 name", Unit::times,
                           false};
constexpr Rule sixteen_clients{"P3", "16 clients, disjoint names: share of the floor's throughput",
                               Unit::share, true};
constexpr Rule collisions{"P3", "16 clients, disjoint names: internal retries per grant",
                          Unit::percent, false};
constexpr Rule hand_over{"P4", "hand-over among 8 clients: in relation to one lock()", Unit::times,
                         false};
constexpr Rule full_store{"P5", "a full store: time in relation to an empty one", Unit::times,
                          false};
constexpr Rule renewal_cost{"P6", "renewing 10,000 holds: share of one core of the client",
                            Unit::percent, false};
constexpr Rule renewal_wait{"P6", "renewing 10,000 holds: another's lock() in relation to before",
                            Unit::times, false};
constexpr Rule attempts{"P7", "200 clients on one name: attempts per grant", Unit::count, false};
constexpr Rule memory_cycle{"P8", "memory: acquire + release, one thread", Unit::microseconds,
                            false};

constexpr Rule fair_to_eight{"P9", "8 clients that ask again at once: least served of most served",
                             Unit::share, true};
constexpr Rule fair_to_many{"P9", "200 clients that ask again at once: least served of most served",
                            Unit::percent, true};
constexpr Rule set_among_singles{"P9", "a set of 8 among singles: longest wait", Unit::milliseconds,
                                 false};
constexpr Rule writer_among_readers{"P9", "a writer among readers: longest wait",
                                    Unit::milliseconds, false};
constexpr Rule holder_killed{"P10", "kill -9 of the holder to the next grant", Unit::milliseconds,
                             false};
constexpr Rule command_killed{"P10", "kill -9 of lockset run to the next grant", Unit::milliseconds,
                              false};
constexpr Rule share_of_native{"P12", "one client: share of the native lock's throughput",
                               Unit::share, true};

constexpr std::uint64_t most_clients = 200;

// What the promises demand from a store, by its abilities.
struct Kind {
  bool has_floor = true;
  bool pushes = false;  // the store itself wakes waiters
  bool queues = false;  // it wakes a bounded number of them
  double sixteen_must = 0.45;
  double collisions_must = 0.01;
  std::uint64_t most_holds = 1'000'000;
  std::optional<double> killed_must{};  // ms; none: a dead holder's locks end with its lease
  bool session = false;                 // its locks are the store's native ones
};

Kind kind_of(const Space& space) {
  Kind kind;
  const auto says = [&](std::string_view what) {
    return space.url.find(what) != std::string::npos || space.id.find(what) != std::string::npos;
  };
  if (space.scheme == "memory") {
    kind.has_floor = false;
    kind.pushes = true;
  } else if (space.scheme == "sqlite") {
    kind.pushes = kind.queues = true;
    kind.killed_must = 100;
  } else if (space.scheme == "postgresql") {
    kind.pushes = kind.queues = says("listen=on") || (!says("listen=off") && !says("pooler=on"));
    if (says("serializable")) kind.collisions_must = 0.05;
  } else if (space.scheme == "mysql") {
    kind.pushes = kind.queues = true;
  } else if (space.scheme == "redis") {
    kind.pushes = kind.queues = true;
    kind.sixteen_must = 0.55;
  } else if (space.scheme == "zookeeper") {
    kind.pushes = kind.queues = true;
    kind.sixteen_must = 0.55;
    kind.most_holds = 20'000;
  }
  kind.session = says("strategy=session");
  if (kind.session) kind.killed_must = 1000;
  return kind;
}

// The range and the median of values, one for each turn.
std::optional<Spread> spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  const double median =
      values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
  return Spread{median, values.front(), values.back()};
}

Verdict verdict_of(const Promise& promise) {
  if (!promise.must) return Verdict::none;
  if (!promise.measured) return Verdict::not_measured;
  const double value = promise.measured->median;
  const auto meets = [&](double bound) {
    return promise.more_is_better ? value >= bound : value <= bound;
  };
  if (!meets(*promise.must)) return Verdict::missed;
  return promise.aim && meets(*promise.aim) ? Verdict::aim : Verdict::must;
}

class Judge {
 public:
  explicit Judge(const Results& results) : results_(results) {}

  std::vector<Promise> all() && {
    for (const Space& space : results_.spaces) {
      space_ = &space;
      kind_ = kind_of(space);
      uncontended();
      set_size();
      disjoint();
      contended();
      starving();
      many_held();
      renewal();
      memory();
      crash();
      beside_the_native();
    }
    std::stable_sort(made_.begin(), made_.end(), [](const Promise& a, const Promise& b) {
      if (a.id == b.id) return place(a) < place(b);
      // "P10" comes after "P9".
      return a.id.size() != b.id.size() ? a.id.size() < b.id.size() : a.id < b.id;
    });
    return std::move(made_);
  }

 private:
  // Orders several rules of one promise.
  static int place(const Promise& promise) {
    const auto is = [&](const Rule& rule) { return promise.what == rule.what; };
    if (is(writer_among_readers)) return 3;
    if (is(set_among_singles)) return 2;
    return is(collisions) || is(renewal_wait) || is(fair_to_many) || is(command_killed) ? 1 : 0;
  }

  // Lockset's own measurement in this space for which `fits` is true, or null.
  template <typename Fits>
  const Measurement* find(std::string_view workload, const Fits& fits) const {
    for (const Measurement& m : results_.measurements) {
      if (m.space == space_->id && m.role == "lockset" && m.workload == workload && fits(m)) {
        return &m;
      }
    }
    return nullptr;
  }

  Promise& make(const Rule& rule, std::optional<double> must, std::optional<double> aim,
                const Measurement* from, const std::optional<Spread>& measured,
                std::string note = "") {
    Promise promise;
    promise.id = rule.id;
    promise.what = rule.what;
    promise.space = space_->id;
    promise.unit = rule.unit;
    promise.must = must;
    promise.aim = aim;
    promise.measured = measured;
    promise.more_is_better = rule.more_is_better;
    promise.note = std::move(note);
    // A number without a range was counted over all turns.
    if (from != nullptr && promise.measured && promise.measured->low) {
      promise.repetitions = from->repetitions;
    }
    promise.verdict = verdict_of(promise);
    return made_.emplace_back(std::move(promise));
  }

  void uncontended() {
    if (!kind_.has_floor) return;
    const Measurement* m = find("uncontended", [](const Measurement&) { return true; });
    std::string note;
    for (const auto& [name, value] : space_->settings) {
      if (space_->scheme == "sqlite" && name == "synchronous") note = "synchronous=" + value;
    }
    make(share_of_floor, 0.6, 0.85, m, m != nullptr ? m->ratio : std::nullopt, note);
  }

  void set_size() {
    const Measurement* m = find("set-size", [](const Measurement& x) { return x.names == 8; });
    make(eight_names, 2, 1.5, m, m != nullptr ? m->cost : std::nullopt);
  }

  void disjoint() {
    if (!kind_.has_floor) return;
    const auto variant = [&](std::uint64_t processes) {
      return find("disjoint", [&](const Measurement& x) {
        return x.clients == 16 && x.processes == processes;
      });
    };
    const Measurement* m = variant(16);
    std::string note = m != nullptr ? "16 processes" : "";
    if (m == nullptr && (m = variant(1)) != nullptr) note = "threads of one process";
    make(sixteen_clients, kind_.sixteen_must, 0.8, m, m != nullptr ? m->ratio : std::nullopt, note);
    std::optional<Spread> retries;
    if (m != nullptr && m->collided) retries = Spread{*m->collided, {}, {}};
    make(collisions, kind_.collisions_must, {}, m, retries, note);
  }

  void contended() {
    const auto with = [&](std::uint64_t clients) {
      return find("contended", [&](const Measurement& x) { return x.clients == clients; });
    };
    const Measurement* eight = with(8);
    const auto cost = eight != nullptr ? eight->handover_cost : std::nullopt;
    if (kind_.pushes) {
      make(hand_over, 4, 2, eight, cost);
    } else {
      make(hand_over, {}, {}, eight, cost, "no push: polled");
    }
    const Measurement* crowd = with(most_clients);
    std::optional<Spread> tried;
    if (crowd != nullptr && crowd->attempts_per_grant) {
      tried = Spread{*crowd->attempts_per_grant, {}, {}};
    }
    if (kind_.queues) {
      make(attempts, 4, {}, crowd, tried);
    } else {
      make(attempts, {}, {}, crowd, tried, "no queue");
    }
    fairness(fair_to_eight, eight);
    fairness(fair_to_many, crowd);
  }

  void fairness(const Rule& rule, const Measurement* m) {
    std::optional<Spread> share;
    if (m != nullptr && m->fairness && m->fairness->most > 0) {
      share = Spread{m->fairness->least / m->fairness->most, {}, {}};
    }
    if (kind_.queues) {
      make(rule, 0.5, {}, m, share);
    } else {
      make(rule, {}, {}, m, share, "no queue");
    }
  }

  // Memory has no such clients: they would be threads of one process.
  void starving() {
    if (!kind_.has_floor) return;
    const auto judge = [&](const Rule& rule, std::string_view among) {
      const Measurement* m =
          find("starving", [&](const Measurement& x) { return x.among == among; });
      std::optional<Spread> wait;
      if (m != nullptr && m->longest_wait_us) wait = Spread{*m->longest_wait_us / 1000, {}, {}};
      if (kind_.queues) {
        make(rule, 2000, {}, m, wait);
      } else {
        make(rule, {}, {}, m, wait, "no queue");
      }
    };
    judge(set_among_singles, "singles");
    judge(writer_among_readers, "readers");
  }

  void crash() {
    if (!kind_.has_floor) return;
    const auto by = [&](std::string_view rival) {
      return find("crash", [&](const Measurement& x) { return x.rival == rival; });
    };
    const auto judge = [&](const Rule& rule, const Measurement* m, std::optional<double> must) {
      make(rule, must, {}, m, m != nullptr ? m->recovery_ms : std::nullopt,
           must ? "" : "when the lease ends");
    };
    judge(holder_killed, by("lockset"), kind_.killed_must);
    // Its guard releases the hold.
    judge(command_killed, by("lockset run"), 100);
  }

  void beside_the_native() {
    if (!kind_.session) return;
    const Measurement* own = find("uncontended", [](const Measurement&) { return true; });
    const Measurement* native = nullptr;
    for (const Measurement& m : results_.measurements) {
      if (m.space == space_->id && m.role == "native" && m.workload == "uncontended") {
        native = &m;
        break;
      }
    }
    std::vector<double> shares;
    if (own != nullptr && native != nullptr) {
      for (std::size_t i = 0; i < std::min(own->rates.size(), native->rates.size()); ++i) {
        if (native->rates[i] > 0) shares.push_back(own->rates[i] / native->rates[i]);
      }
    }
    make(share_of_native, 0.7, {}, own, spread_of(std::move(shares)),
         native != nullptr ? native->rival : "");
  }

  void many_held() {
    const Measurement* most = nullptr;
    for (const Measurement& m : results_.measurements) {
      const bool own = m.space == space_->id && m.role == "lockset" && m.workload == "many-held";
      if (own && m.cost && (most == nullptr || m.holds > most->holds)) most = &m;
    }
    if (most == nullptr) {
      // Nobody can fill the memory backend from another process.
      if (kind_.has_floor) make(full_store, 1.3, 1.1, nullptr, {});
      return;
    }
    Promise& promise =
        make(full_store, 1.3, 1.1, most, most->cost, grouped(most->holds) + " holds");
    if (most->holds < kind_.most_holds) {
      promise.verdict = Verdict::not_measured;
      promise.note = grouped(most->holds) + " of " + grouped(kind_.most_holds);
    }
  }

  void renewal() {
    const Measurement* m = find("renewal", [](const Measurement&) { return true; });
    if (m == nullptr && !kind_.has_floor) return;
    const std::string note = m != nullptr && m->holds != 10'000 ? grouped(m->holds) + " holds" : "";
    const bool too_few = m != nullptr && m->holds < 10'000;
    Promise& cost =
        make(renewal_cost, 0.02, 0.01, m, m != nullptr ? m->cpu_share : std::nullopt, note);
    if (too_few) cost.verdict = Verdict::not_measured;
    Promise& wait = make(renewal_wait, 2, {}, m, m != nullptr ? m->slowdown : std::nullopt, note);
    if (too_few) wait.verdict = Verdict::not_measured;
  }

  void memory() {
    if (space_->scheme != "memory") return;
    const Measurement* m = find("uncontended", [](const Measurement&) { return true; });
    std::optional<Spread> cycle;
    if (m != nullptr && m->per_second && m->per_second->median > 0) {
      // The highest rate is the shortest time.
      const auto time = [](std::optional<double> rate) -> std::optional<double> {
        if (!rate || *rate <= 0) return {};
        return 1e6 / *rate;
      };
      cycle =
          Spread{1e6 / m->per_second->median, time(m->per_second->high), time(m->per_second->low)};
    }
    make(memory_cycle, 2, 0.5, m, cycle);
  }

  const Results& results_;
  const Space* space_ = nullptr;
  Kind kind_;
  std::vector<Promise> made_;
};

Json optional(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

}  // namespace

std::vector<Promise> judge(const Results& results) { return Judge(results).all(); }

Json promises(const Json& results) {
  Json list = Json::array();
  for (const Promise& promise : judge(read_results(results))) {
    Json measured = nullptr;
    if (promise.measured) {
      measured = {{"median", promise.measured->median}};
      if (promise.measured->low) measured["low"] = *promise.measured->low;
      if (promise.measured->high) measured["high"] = *promise.measured->high;
    }
    list.push_back({{"promise", promise.id},
                    {"what", promise.what},
                    {"space", promise.space},
                    {"unit", to_string(promise.unit)},
                    {"must", optional(promise.must)},
                    {"aim", optional(promise.aim)},
                    {"measured", std::move(measured)},
                    {"better", promise.more_is_better ? "more" : "less"},
                    {"verdict", to_string(promise.verdict)},
                    {"repetitions", promise.repetitions},
                    {"note", promise.note}});
  }
  return list;
}

std::string_view to_string(Unit unit) noexcept {
  switch (unit) {
    case Unit::share:
      return "share";
    case Unit::times:
      return "times";
    case Unit::percent:
      return "percent";
    case Unit::microseconds:
      return "us";
    case Unit::milliseconds:
      return "ms";
    case Unit::count:
      return "count";
  }
  return "";
}

std::string_view to_string(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::aim:
      return "aim";
    case Verdict::must:
      return "must";
    case Verdict::missed:
      return "missed";
    case Verdict::not_measured:
      return "not measured";
    case Verdict::none:
      return "no promise";
  }
  return "";
}

}  // namespace lockset::bench
