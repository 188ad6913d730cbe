#include "tests/chaos/migration/report.h"

#include <algorithm>
#include <cstdio>

#include "tests/chaos/migration/figures.h"
#include "tools/table.h"

namespace lockset::chaos {
namespace {

std::string number(const char* format, double value) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string seconds(Duration time) {
  return number("%.1f s", std::chrono::duration<double>(time).count());
}

double milliseconds(Duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

std::string title(const Span& span) {
  std::string text(to_string(span.phase));
  return span.step ? "  " + std::string(to_string(span.step->act)) + " to " + text : text;
}

// "4.1 ms (1.3)": the median, and its ratio to the one at the beginning.
std::string told(const Latency& latency, Duration at_first) {
  if (latency.count < 20) return "";
  const double median = milliseconds(latency.median);
  const double ratio = at_first > Duration::zero() ? median / milliseconds(at_first) : 0;
  return number("%.2f ms", median) + number(" (%.2f)", ratio) +
         number(", 99 %%: %.0f ms", milliseconds(latency.p99));
}

std::string course_table(const std::vector<Span>& spans, const std::vector<Figures>& figures) {
  tools::Table table({"PART", "TIME", "RESTARTS", "FAULTS OLD/NEW", "GRANTS", "PER S",
                      "LONGEST WITHOUT", "FAILED", "TRY: OLD", "MIGRATE", "NEW"});
  const Duration at_first = figures.front().tries[0].median;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const Span& span = spans[i];
    const Figures& here = figures[i];
    const Duration time = span.to - span.from;
    std::size_t failed = 0;
    for (const auto& [reason, count] : here.failures) failed += count;
    table.add({title(span), seconds(time), std::to_string(span.restarts),
               std::to_string(span.faults_of_old) + "/" + std::to_string(span.faults_of_new),
               std::to_string(here.grants),
               number("%.0f", static_cast<double>(here.grants) /
                                  std::max(0.001, std::chrono::duration<double>(time).count())),
               number("%.0f ms", milliseconds(here.longest_without_grant)), std::to_string(failed),
               told(here.tries[0], at_first), told(here.tries[1], at_first),
               told(here.tries[2], at_first)});
  }
  return table.text();
}

std::string reasons(const std::vector<Span>& spans, const std::vector<Figures>& figures) {
  std::string text;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (spans[i].step) {
      for (const auto& [reason, count] : spans[i].step->obstacles) {
        text +=
            "waited " + std::to_string(count) + " times:" + title(spans[i]) + ": " + reason + "\n";
      }
    }
    for (const auto& [reason, count] : figures[i].failures) {
      text += "failed " + std::to_string(count) + " acquires: " + title(spans[i]) + ": " + reason +
              "\n";
    }
  }
  return text;
}

}  // namespace

std::string migration_report(const MigrationCourse& course, const history::History& history,
                             const std::vector<FailedCall>& failures) {
  const std::vector<Span>& spans = course.spans();
  const std::vector<Figures> figures = figures_of(history, spans, course.ways(), failures);
  if (spans.empty()) return "The migration has not begun\n";
  std::size_t unexplained = 0;
  for (const Figures& each : figures) unexplained += each.unexplained;
  return course_table(spans, figures) + "\n" + reasons(spans, figures) +
         "Acquires that failed for no reason that the run gave: " + std::to_string(unexplained) +
         "\nThe longest time without any grant: " +
         number("%.0f ms", milliseconds(longest_without_grant(history))) +
         "\nProcesses of another phase's configuration that were refused: " +
         std::to_string(course.refused()) + " new ones, " +
         std::to_string(course.refused_after_sleep()) +
         " that had slept\nMoves of two who steered at once: " +
         std::to_string(course.quarrelled()) + "\n";
}

}  // namespace lockset::chaos
