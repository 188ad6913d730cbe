// lockset migrate: moves the locks from one store to another while programs run.
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/audit.h"
#include "cli/chat.h"
#include "cli/command.h"
#include "cli/findings.h"
#include "cli/migrate_report.h"
#include "cli/migrate_steps.h"
#include "cli/open_space.h"
#include "cli/output.h"
#include "cli/watch.h"
#include "core/time_math.h"
#include "tools/failure.h"
#include "tools/table.h"

namespace lockset::cli {

using namespace tools;
namespace {

using Level = Finding::Level;

// Planning takes many round trips to both stores.
TimePoint time_for_plan(const Steersman& at_helm) {
  return later(BootClock::now(), std::min(at_helm.io_timeout, Duration::max() / 8) * 8);
}

// An impossible pair of stores is bad configuration, no matter which call notices it.
template <class T>
T or_fail_step(Result<T> result) {
  if (!result &&
      (result.error().code == Errc::invalid || result.error().code == Errc::unsupported)) {
    throw Failure(exit_config, result.error().message);
  }
  return or_fail(std::move(result));
}

Journey journey_of(const Invocation& invocation, bool ahead, Opt to) {
  Journey journey;
  journey.ahead = ahead;
  journey.watch = invocation.settings.has(Opt::watch);
  if (invocation.settings.has(to)) journey.to = phase_named(invocation.settings.text(to));
  return journey;
}

bool confirmed() {
  std::fputs("There is no way back after this. Type yes to finish the migration: ", stderr);
  char answer[16] = {};
  const bool read = std::fgets(answer, sizeof answer, stdin) != nullptr;
  return read && std::string_view(answer) == "yes\n";
}

}  // namespace

int migrate_plan(const Invocation& invocation) {
  check_operands(invocation, 0, 0, "migrate plan [--copy-permits] [--json]");
  Steersman at_helm = take_the_helm(invocation.settings);
  std::size_t copied = 0;
  if (invocation.settings.has(Opt::copy_permits)) {
    const Result<std::size_t> done = at_helm.migration.copy_permits(time_for_plan(at_helm));
    if (!done || *done > 0) {
      audit(invocation.settings, done ? Status() : Status(done.error()), "migrate plan",
            "settings copied to the new space" + (done ? ": " + std::to_string(*done) : ""));
    }
    copied = or_fail_step(done);
  }
  const std::vector<Finding> findings =
      or_fail_step(at_helm.migration.plan(time_for_plan(at_helm)));
  const Level worst = worst_of(findings);
  if (invocation.settings.has(Opt::json)) {
    const nlohmann::ordered_json all{{"from", at_helm.from},
                                     {"to", at_helm.to},
                                     {"copied", copied},
                                     {"worst", word_of(worst)},
                                     {"findings", json_of(findings)}};
    print(all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  } else {
    if (invocation.settings.has(Opt::copy_permits)) {
      print("copied to the new space: " + std::to_string(copied) +
            (copied == 1 ? " setting\n" : " settings\n"));
    }
    print(table_of(findings));
  }
  if (worst != Level::unsafe) return exit_ok;
  throw Failure(exit_config, "`lockset migrate start` refuses this; mend what is marked as unsafe");
}

int migrate_start(const Invocation& invocation) {
  check_operands(invocation, 0, 0, "migrate start");
  Steersman at_helm = take_the_helm(invocation.settings);
  const MigrationStatus status = or_fail(at_helm.migration.status(at_helm.soon()));
  if (status.phase == MigrationPhase::old_only) {
    const std::vector<Finding> findings =
        or_fail_step(at_helm.migration.plan(time_for_plan(at_helm)));
    for (const Finding& each : findings) {
      if (each.level == Level::good) continue;
      const std::string text = harmless(each.subject) + ": " + harmless(each.text);
      if (each.level == Level::warning) {
        warn(text);
      } else {
        say_error(std::string(word_of(each.level)) + ": " + text);
      }
    }
    if (worst_of(findings) == Level::unsafe) {
      throw Failure(exit_config, "not begun; mend what is unsafe");
    }
  }
  const Result<MigrationPhase> begun = at_helm.migration.start(at_helm.soon());
  if (!begun || *begun != status.phase) {
    audit_step(invocation.settings, begun, "migrate start", status.phase);
  }
  print(phase_text(or_fail_step(begun)) + "\n");
  return exit_ok;
}

int migrate_advance(const Invocation& invocation) {
  check_operands(invocation, 0, 0, "migrate advance [--watch] [--to PHASE]");
  const Journey journey = journey_of(invocation, true, Opt::to_phase_ahead);
  if (journey.to == MigrationPhase::finished) {
    throw Failure(exit_usage, "the last step has a command of its own: lockset migrate finish");
  }
  return travel(invocation.settings, journey);
}

int migrate_rollback(const Invocation& invocation) {
  check_operands(invocation, 0, 0, "migrate rollback [--watch] [--to PHASE]");
  return travel(invocation.settings, journey_of(invocation, false, Opt::to_phase_back));
}

int migrate_status(const Invocation& invocation) {
  check_operands(invocation, 0, 0, "migrate status [--json] [--watch]");
  const bool json = invocation.settings.has(Opt::json);
  Watch watch(invocation.settings.has(Opt::show_again), json);
  Steersman at_helm = take_the_helm(invocation.settings);
  return watch.show([&]() -> Result<std::string> {
    const Result<MigrationStatus> status = at_helm.migration.status(at_helm.soon());
    if (!status) return status.error();
    return json ? report_json(*status, at_helm.from, at_helm.to)
                : report_text(*status, at_helm.from, at_helm.to);
  });
}

int migrate_finish(const Invocation& invocation) {
  check_operands(invocation, 0, 0, "migrate finish [--yes]");
  Steersman at_helm = take_the_helm(invocation.settings);
  const MigrationStatus status = or_fail(at_helm.migration.status(at_helm.soon()));
  if (status.phase == MigrationPhase::closed && !invocation.settings.has(Opt::yes)) {
    if (::isatty(STDIN_FILENO) != 1 || ::isatty(STDERR_FILENO) != 1) {
      throw Failure(exit_usage, "there is no way back after this, and nobody to ask: say --yes");
    }
    if (!confirmed()) throw Failure(exit_conflict, "not finished");
  }
  const Result<MigrationPhase> finished = at_helm.migration.finish(at_helm.soon());
  if (!finished || *finished != status.phase) {
    audit_step(invocation.settings, finished, "migrate finish", status.phase);
  }
  print(phase_text(or_fail_step(finished)) + "\n");
  return exit_ok;
}

int migrate_release_new(const Invocation& invocation) {
  check_operands(invocation, 0, 0, "migrate release-new [--old-store-gone] [--json]");
  Steersman at_helm = take_the_helm(invocation.settings);
  const bool gone = invocation.settings.has(Opt::old_store_gone);
  const Result<MigrationPhase> released = at_helm.migration.release_new(at_helm.soon(), gone);
  audit(invocation.settings, released ? Status() : Status(released.error()), "migrate release-new",
        "programs may use the new space alone");
  const MigrationPhase phase = or_fail_step(released);
  if (invocation.settings.has(Opt::json)) {
    const nlohmann::ordered_json all{{"from", at_helm.from},
                                     {"to", at_helm.to},
                                     {"phase", to_string(phase)},
                                     {"new_space_kept", false}};
    print(all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  } else {
    print("released: the new space is free, and takes part in no move\n");
  }
  return exit_ok;
}

}  // namespace lockset::cli
