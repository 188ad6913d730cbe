#include "benchmarks/report/terminal.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>

#include "benchmarks/report/numbers.h"
#include "benchmarks/report/promises.h"
#include "benchmarks/report/sheet.h"
#include "tools/table.h"

namespace lockset::bench {
namespace {

using tools::harmless;
using Row = std::reference_wrapper<const Measurement>;

std::string cell(const std::optional<Spread>& value, Unit unit) {
  return value ? spread(*value, unit) : "";
}
std::string whole(double count) {
  return count >= 0 && count < 1e18 ? grouped(static_cast<std::uint64_t>(count)) : "?";
}
std::string rate_cell(const std::optional<Spread>& value) {
  return value ? rate(value->median) : "";
}
std::string duration_cell(const std::optional<Spread>& value) {
  return value ? duration(value->median) : "";
}
std::string duration_cell(const std::optional<Latency>& value, double Latency::*part) {
  return value ? duration((*value).*part) : "";
}

// "1 process" is not mentioned.
std::string many(std::uint64_t count, const char* one, const char* more) {
  return grouped(count) + " " + (count == 1 ? one : more);
}

std::string minutes(double seconds) {
  const auto all = static_cast<std::uint64_t>(seconds);
  return all < 60 ? std::to_string(all) + " s"
                  : std::to_string(all / 60) + " min " + std::to_string(all % 60) + " s";
}

class Report {
 public:
  explicit Report(const Results& results) : results_(results) {}

  std::string text() && {
    head();
    cycles("uncontended", "One client, one name: nobody else wants it");
    disjoint();
    set_size();
    cycles("read-mostly", "16 clients, 8 names that all share: 95 % of the locks are reads");
    contended();
    starving();
    many_held();
    renewal();
    crash();
    promise_table();
    failures();
    if (results_.interrupted) {
      text_ += "\nInterrupted: this is what had been measured until then.\n";
    }
    return std::move(text_);
  }

 private:
  void head() {
    text_ += "Lockset " + harmless(results_.version) + " benchmarks";
    if (!results_.began.empty()) text_ += ", begun " + harmless(results_.began);
    if (results_.seconds > 0) text_ += ", " + minutes(results_.seconds);
    text_ += results_.quick ? ", quick\n" : "\n";
    if (results_.interrupted) text_ += "INTERRUPTED: only part of it was measured.\n";
    std::string machine;
    for (const auto& [name, value] : results_.machine) {
      std::string part = harmless(name) + " " + harmless(value);
      if (name == "cores") part = harmless(value) + " cores";
      if (name == "memory_gib") part = harmless(value) + " GiB of memory";
      machine += (machine.empty() ? "" : ", ") + part;
    }
    text_ += wrapped(machine, 0);
    std::string method =
        "Turn by turn with the floor, the least that the store's own client "
        "library can do for a lock.";
    if (results_.repetitions > 0) {
      method += " " + many(results_.repetitions, "turn", "turns") + " of " +
                duration(results_.slice_seconds * 1e6) + " each.";
    }
    text_ += wrapped(method +
                         " Of values over the turns: median [lowest-highest]. A cycle is one "
                         "lock and one unlock.",
                     0);
    if (!results_.spaces.empty()) text_ += "\nSpaces\n";
    for (const Space& space : results_.spaces) {
      std::string line = harmless(space.id) + ":";
      for (const auto& [name, value] : space.settings) {
        line += (line.back() == ':' ? " " : ", ") + harmless(name) + " " + harmless(value);
      }
      text_ += wrapped(line, 2);
    }
  }

  // The measurements of a workload, by space in the order of the spaces.
  std::vector<std::pair<std::string, std::vector<Row>>> by_space(std::string_view workload) const {
    std::vector<std::pair<std::string, std::vector<Row>>> groups;
    for (const Space& space : results_.spaces) groups.push_back({space.id, {}});
    for (const Measurement& m : results_.measurements) {
      if (m.workload != workload) continue;
      auto group = std::find_if(groups.begin(), groups.end(),
                                [&](const auto& other) { return other.first == m.space; });
      if (group == groups.end()) group = groups.insert(groups.end(), {m.space, {}});
      group->second.push_back(m);
    }
    // A rival's lines together, the rivals in their original order.
    for (auto& [space, rows] : groups) {
      std::vector<std::string> rivals;
      for (const Measurement& m : rows) rivals.push_back(m.rival);
      const auto place = [&](const Measurement& m) {
        return std::find(rivals.begin(), rivals.end(), m.rival);
      };
      std::stable_sort(rows.begin(), rows.end(), [&](Row a, Row b) { return place(a) < place(b); });
    }
    std::erase_if(groups, [](const auto& group) { return group.second.empty(); });
    return groups;
  }

  // One line per measurement.
  template <typename Name, typename Cells>
  void list(std::string_view workload, std::string title, std::vector<std::string> columns,
            const Name& name, const Cells& cells) {
    Sheet sheet(std::move(title), "space, rival", std::move(columns));
    for (const auto& [space, rows] : by_space(workload)) {
      sheet.group(harmless(space));
      for (const Measurement& m : rows) sheet.row(harmless(m.rival) + name(m), cells(m));
    }
    text_ += sheet.text();
  }

  void cycles(std::string_view workload, std::string title) {
    list(
        workload, std::move(title),
        {"cycles/s", "of floor", "lock p50", "p99", "p99.9", "max", "CPU/cycle"},
        [](const Measurement&) { return ""; },
        [](const Measurement& m) -> std::vector<std::string> {
          return {rate_cell(m.per_second),
                  m.role == "floor" ? "the floor" : cell(m.ratio, Unit::share),
                  duration_cell(m.lock_us, &Latency::p50),
                  duration_cell(m.lock_us, &Latency::p99),
                  duration_cell(m.lock_us, &Latency::p999),
                  duration_cell(m.lock_us, &Latency::max),
                  duration_cell(m.cpu_us)};
        });
  }

  // Parallel clients: they are one curve. Clients in threads of one process are another.
  void disjoint() {
    const auto groups = by_space("disjoint");
    std::set<std::uint64_t> clients;
    for (const auto& [space, rows] : groups) {
      for (const Measurement& m : rows) clients.insert(m.clients);
    }
    std::vector<std::string> columns;
    for (const std::uint64_t count : clients) columns.push_back(grouped(count));
    Sheet sheet("Clients on names of their own: cycles/s of all, by the number of clients",
                "space, rival", columns);
    for (const auto& [space, rows] : groups) {
      sheet.group(harmless(space));
      for (const auto& [name, curve] : curves(rows)) {
        const auto line = [&](std::string_view label, const auto& cell_of) {
          std::vector<std::string> cells;
          for (const std::uint64_t count : clients) {
            const auto found = curve.find(count);
            cells.push_back(found == curve.end() ? "" : cell_of(found->second.get()));
          }
          const bool any = std::any_of(cells.begin(), cells.end(),
                                       [](const std::string& text) { return !text.empty(); });
          if (any) sheet.row(std::string(label), std::move(cells));
        };
        line(name, [](const Measurement& m) { return rate_cell(m.per_second); });
        if (curve.begin()->second.get().role != "lockset") continue;
        line("  of floor", [](const Measurement& m) {
          return m.ratio ? number(m.ratio->median, Unit::share) : "";
        });
        line("  lowest-highest", [](const Measurement& m) {
          return m.ratio && m.ratio->low && m.ratio->high
                     ? number(*m.ratio->low, Unit::share) + "-" +
                           number(*m.ratio->high, Unit::share)
                     : "";
        });
        line("  lock p50",
             [](const Measurement& m) { return duration_cell(m.lock_us, &Latency::p50); });
        line("  lock p99",
             [](const Measurement& m) { return duration_cell(m.lock_us, &Latency::p99); });
        line("  CPU/cycle", [](const Measurement& m) { return duration_cell(m.cpu_us); });
      }
    }
    text_ += sheet.text();
  }

  // By the number of clients. A single client is a point of both kinds of curve.
  static std::vector<std::pair<std::string, std::map<std::uint64_t, Row>>> curves(
      const std::vector<Row>& rows) {
    std::vector<std::pair<std::string, std::map<std::uint64_t, Row>>> result;
    const auto add = [&](const std::string& name, const Measurement& m) {
      auto curve = std::find_if(result.begin(), result.end(),
                                [&](const auto& other) { return other.first == name; });
      if (curve == result.end()) curve = result.insert(result.end(), {name, {}});
      curve->second.emplace(m.clients, m);
    };
    for (const Measurement& m : rows) {
      const std::string rival = harmless(m.rival);
      std::set<bool> in_threads;
      for (const Measurement& other : rows) {
        if (other.rival == m.rival && other.clients > 1) in_threads.insert(other.processes == 1);
      }
      if (m.clients > 1) in_threads = {m.processes == 1};
      if (in_threads.empty()) in_threads = {false};
      for (const bool threads : in_threads) {
        add(rival + (threads ? ", threads" : ", processes"), m);
      }
    }
    return result;
  }

  void set_size() {
    list(
        "set-size", "One client, sets of 1 to 64 names: the time of a cycle, in relation to 1 name",
        {"cycles/s", "of 1 name's time", "of floor", "cycle p50", "p99"},
        [](const Measurement& m) { return ", " + many(m.names, "name", "names"); },
        [](const Measurement& m) -> std::vector<std::string> {
          return {rate_cell(m.per_second), cell(m.cost, Unit::times),
                  m.role == "floor" ? "the floor" : cell(m.ratio, Unit::share),
                  duration_cell(m.cycle_us, &Latency::p50),
                  duration_cell(m.cycle_us, &Latency::p99)};
        });
  }

  void contended() {
    list(
        "contended",
        "2 to 200 clients on one name: hand-over (median) from one's unlock() to the next one's "
        "lock(), also in relation to an uncontended lock(); grants of the least and the most "
        "served client; the longest wait; tries per grant",
        {"hand-over", "p99", "max", "of a lock()", "served", "waited", "tries"},
        [](const Measurement& m) { return ", " + grouped(m.clients); },
        [](const Measurement& m) -> std::vector<std::string> {
          return {duration_cell(m.handover_us, &Latency::p50),
                  duration_cell(m.handover_us, &Latency::p99),
                  duration_cell(m.handover_us, &Latency::max),
                  cell(m.handover_cost, Unit::times),
                  m.fairness ? whole(m.fairness->least) + "-" + whole(m.fairness->most) : "",
                  m.fairness ? duration(m.fairness->longest_wait_us) : "",
                  m.attempts_per_grant ? number(*m.attempts_per_grant, Unit::count) : ""};
        });
  }

  void starving() {
    list(
        "starving",
        "A set of 8 names among 8 clients that ask for one of them at a time, and a writer among 8 "
        "readers of one name: its grants in all turns, how long it waited, what the 8 got",
        {"grants", "wait p50", "p99", "longest", "others/s"},
        [](const Measurement& m) { return m.among == "readers" ? ", writer" : ", set"; },
        [](const Measurement& m) -> std::vector<std::string> {
          return {m.grants ? whole(*m.grants) : "", duration_cell(m.lock_us, &Latency::p50),
                  duration_cell(m.lock_us, &Latency::p99),
                  m.longest_wait_us ? duration(*m.longest_wait_us) : "",
                  rate_cell(m.others_per_second)};
        });
  }

  void many_held() {
    list(
        "many-held", "One client in a store that others' live holds fill, in relation to none",
        {"cycles/s", "of empty's time", "of floor", "cycle p50", "p99"},
        [](const Measurement& m) { return ", " + many(m.holds, "hold", "holds"); },
        [](const Measurement& m) -> std::vector<std::string> {
          return {rate_cell(m.per_second), cell(m.cost, Unit::times),
                  m.role == "floor" ? "the floor" : cell(m.ratio, Unit::share),
                  duration_cell(m.cycle_us, &Latency::p50),
                  duration_cell(m.cycle_us, &Latency::p99)};
        });
  }

  void renewal() {
    list(
        "renewal", "A process that renews its holds: of one core, and another's lock() meanwhile",
        {"renewals", "of one core", "other's lock()", "its p99"},
        [](const Measurement& m) { return ", " + many(m.holds, "hold", "holds"); },
        [](const Measurement& m) -> std::vector<std::string> {
          return {m.renewals ? rate(*m.renewals) : "", cell(m.cpu_share, Unit::percent),
                  cell(m.slowdown, Unit::times), cell(m.slowdown_p99, Unit::times)};
        });
  }

  void crash() {
    list(
        "crash", "The holder is killed (kill -9): the time until the next grant",
        {"lease", "until the next grant", "lowest", "highest"},
        [](const Measurement&) { return ""; },
        [](const Measurement& m) -> std::vector<std::string> {
          const auto part = [](const std::optional<double>& milliseconds) {
            return milliseconds ? duration(*milliseconds * 1e3) : "";
          };
          if (!m.recovery_ms) return {};
          return {m.lease_ms && *m.lease_ms > 0 ? part(m.lease_ms) : "none",
                  part(m.recovery_ms->median), part(m.recovery_ms->low), part(m.recovery_ms->high)};
        });
  }

  void promise_table() {
    const std::vector<Promise> all = judge(results_);
    Sheet sheet("Promises: what must be, what is aimed at, and what the median of the turns says",
                "promise, space", {"must", "aim", "measured", "verdict", "note"});
    constexpr std::size_t verdict_column = 3;
    sheet.words_from(verdict_column);
    std::string last;
    std::array<std::size_t, 5> verdicts{};
    bool few = false;
    for (const Promise& promise : all) {
      if (promise.what != last) {
        sheet.group(promise.id + " " + promise.what +
                    (promise.more_is_better ? " (more is better)" : " (less is better)"));
      }
      last = promise.what;
      std::string verdict(to_string(promise.verdict));
      const bool judged =
          promise.verdict != Verdict::not_measured && promise.verdict != Verdict::none;
      const bool weak =
          judged && promise.repetitions > 0 && promise.repetitions < enough_repetitions;
      few = few || weak;
      if (weak) verdict += "*";
      ++verdicts.at(static_cast<std::size_t>(promise.verdict));
      sheet.row(harmless(promise.space),
                {promise.must ? bound(*promise.must, promise.unit) : "",
                 promise.aim ? bound(*promise.aim, promise.unit) : "",
                 cell(promise.measured, promise.unit), verdict, harmless(promise.note)});
    }
    text_ += sheet.text();
    if (all.empty()) return;
    const auto of = [&](Verdict verdict) {
      return std::to_string(verdicts.at(static_cast<std::size_t>(verdict)));
    };
    text_ += "\n" + wrapped("Promises: " + of(Verdict::aim) + " as aimed at, " + of(Verdict::must) +
                                " kept, " + of(Verdict::missed) + " missed, " +
                                of(Verdict::not_measured) + " not measured." +
                                (few ? " * by fewer than " + std::to_string(enough_repetitions) +
                                           " turns: a hint, not a result."
                                     : ""),
                            0);
  }

  void failures() {
    if (results_.failures.empty()) return;
    text_ += "\nNot measured\n";
    for (const FailedRun& failure : results_.failures) {
      std::string line = harmless(failure.space);
      if (!failure.workload.empty()) line += ", " + harmless(failure.workload);
      text_ += wrapped(line + ": " + harmless(failure.why), 2);
    }
  }

  const Results& results_;
  std::string text_;
};

}  // namespace

std::string terminal_report(const Json& results) {
  const Results read = read_results(results);
  return Report(read).text();
}

}  // namespace lockset::bench
