// lockset check-history: says whether a recorded run kept what Lockset promises. The only command
// that asks no store, and the only one that uses more than the public headers: the checker, which
// the tests use as well.
#include <cstdio>

#include "cli/command.h"
#include "cli/output.h"
#include "tools/failure.h"
#include "tools/history_files.h"
#include "tools/history_tables.h"

namespace lockset::cli {

using namespace tools;
int check_history_command(const Invocation& invocation) {
  check_operands(invocation, 1, std::string::npos, "check-history FILE...");
  history::Rules rules;
  if (invocation.settings.has(Opt::per_name)) rules.stamps = history::Rules::StampOrder::per_name;
  const history::History logs = read_history(history_files(invocation.line.operands));
  const Result<history::Report> report = history::check(logs, rules);
  if (!report) throw Failure(exit_bad_data, report.error().message);
  for (const history::Violation& each : report->violations) {
    print(std::string(to_string(each.invariant)) + " is broken: " + each.story + "\n\n");
  }
  print(counts_table(report->counts) + "\n" + verdict_table(*report));
  for (const std::string& why : report->vacuous) print("Shows too little: " + why + "\n");
  return report->kept() ? exit_ok : exit_not_kept;
}

}  // namespace lockset::cli
