// lockset metrics
#include <algorithm>
#include <chrono>
#include <vector>

#include "cli/command.h"
#include "cli/findings.h"
#include "cli/open_space.h"
#include "cli/output.h"
#include "cli/whole_file.h"
#include "core/prometheus_text.h"
#include "lockset/registry.h"
#include "tools/failure.h"

namespace lockset::cli {

using namespace tools;
namespace {

struct Seen {
  std::vector<Finding> findings;
  Traits traits;
  Inspection inspection;
  Duration took{};
};

Result<Seen> look(const Settings& settings) {
  const std::string& url = settings.text(Opt::url);
  Seen seen;
  const TimePoint began = BootClock::now();
  Result<std::vector<Finding>> findings =
      examine_space(url, began + settings.duration(Opt::io_timeout));
  if (!findings) return findings.error();
  // Opening a space that does not exist yet might make it: a wrong address would look like an idle
  // space.
  for (const Finding& each : *findings) {
    if (!each.no_space) continue;
    // What is unsafe has its remedy in its text.
    const bool made_by_opening = each.level != Finding::Level::unsafe;
    return Error{Errc::misconfigured, "no lock space to look at: " + each.text +
                                          (made_by_opening ? ", and so does lockset init" : "")};
  }
  Result<Locks> locks = open(url, options_of(settings, "lockset metrics"));
  if (!locks) return locks.error();
  Result<Inspection> inspection = locks->inspect();
  if (!inspection) return inspection.error();
  seen.took = BootClock::now() - began;
  seen.findings = *std::move(findings);
  seen.traits = locks->traits();
  seen.inspection = *std::move(inspection);
  return seen;
}

class Report {
 public:
  explicit Report(const std::string& url) : labels_(prometheus_labels_of(url)) {}

  void gauge(std::string_view name, std::string_view help, double value) {
    text_.metric(name, "gauge", help);
    text_.sample(labels_, value);
  }
  // Another sample of a metric, or its first one, with one more label.
  void labelled(std::string_view key, std::string_view word, double value) {
    text_.sample(labels_ + "," + prometheus_label(key, word), value);
  }
  void begin(std::string_view name, std::string_view help) { text_.metric(name, "gauge", help); }
  [[nodiscard]] const std::string& text() const { return text_.text(); }

 private:
  std::string labels_;
  PrometheusText text_;
};

// Age of the oldest, by the clock of this host and of the store; 0 if there is none.
template <class Infos>
double age_of_oldest(const Infos& infos) {
  const auto now = std::chrono::system_clock::now();
  auto oldest = now;
  for (const auto& each : infos) oldest = std::min(oldest, each.since);
  return std::chrono::duration<double>(now - oldest).count();
}

void add_holds(Report& report, const Inspection& inspection, Duration soon) {
  std::size_t endless = 0;
  std::size_t expiring = 0;
  for (const HoldInfo& hold : inspection.holds) {
    if (!hold.remaining) ++endless;
    if (hold.remaining && *hold.remaining < soon) ++expiring;
  }
  report.gauge("lockset_holds", "Granted sets of locks.",
               static_cast<double>(inspection.holds.size()));
  report.gauge("lockset_holds_without_lease", "Holds that last until somebody ends them.",
               static_cast<double>(endless));
  report.gauge("lockset_holds_expiring_soon",
               "Holds whose lease ends within " + format_duration(soon) + " unless renewed.",
               static_cast<double>(expiring));
  report.gauge("lockset_longest_hold_seconds", "How long the oldest hold exists; 0 without any.",
               age_of_oldest(inspection.holds));
}

void add_waiters(Report& report, const Inspection& inspection) {
  report.gauge("lockset_waiters", "Sets of locks that somebody waits for.",
               static_cast<double>(inspection.waiters.size()));
  report.gauge("lockset_oldest_wait_seconds", "How long the oldest waiter waits; 0 without any.",
               age_of_oldest(inspection.waiters));
}

void add_findings(Report& report, const std::vector<Finding>& findings) {
  using Level = Finding::Level;
  report.begin("lockset_doctor_findings", "What lockset doctor finds in the store's settings.");
  for (const Level level : {Level::good, Level::warning, Level::unsafe}) {
    const auto count = std::count_if(findings.begin(), findings.end(),
                                     [&](const Finding& each) { return each.level == level; });
    report.labelled("level", word_of(level), static_cast<double>(count));
  }
}

std::string report_of(const Result<Seen>& seen, const Settings& settings) {
  Report report(settings.text(Opt::url));
  report.gauge("lockset_up", "Whether the store answered.", seen ? 1 : 0);
  if (!seen) {
    report.begin("lockset_error", "Why the store did not answer; there is none while it does.");
    report.labelled("code", to_string(seen.error().code), 1);
    return report.text();
  }
  report.gauge("lockset_call_seconds", "How long it took to open the store and to ask it.",
               in_seconds(seen->took));
  add_holds(report, seen->inspection, settings.duration(Opt::expiring_within));
  if (seen->traits.lists_waiters) add_waiters(report, seen->inspection);
  report.gauge("lockset_quarantine_seconds",
               "The store lost its state and grants nothing for this long; 0: it grants.",
               in_seconds(seen->inspection.quarantine.value_or(Duration::zero())));
  add_findings(report, seen->findings);
  return report.text();
}

}  // namespace

int metrics_command(const Invocation& invocation) {
  check_operands(invocation, 0, 0, "metrics [--output FILE] [--expiring-within D]");
  const Settings& settings = invocation.settings;
  const Result<Seen> seen = look(settings);
  const std::string text = report_of(seen, settings);
  if (settings.has(Opt::output)) {
    replace_file(settings.text(Opt::output), text);
  } else {
    print(text);
  }
  if (!seen) fail_open(seen.error(), settings);
  return exit_ok;
}

}  // namespace lockset::cli
