#include "cli/command.h"

#include <utility>

#include "lockset/lock_set.h"
#include "tools/failure.h"
#include "tools/nearest.h"

namespace lockset::cli {

using namespace tools;
namespace {

#define LOCKSET_STORE_OPTIONS                                                                     \
  Opt::url, Opt::password_file, Opt::migrate_from, Opt::migrate_from_password_file,               \
      Opt::migrate_to, Opt::migrate_to_password_file, Opt::config, Opt::io_timeout, Opt::verbose, \
      Opt::log, Opt::help

constexpr Opt run_options[] = {
    Opt::write_names, Opt::read_names, Opt::shell_line,    Opt::wait,
    Opt::no_wait,     Opt::quiet,      Opt::conflict_code, Opt::unless_changed,
    Opt::lease,       Opt::at_least,   Opt::on_lost,       Opt::grace,
    Opt::app,         Opt::label,      Opt::patience,      LOCKSET_STORE_OPTIONS};
constexpr std::size_t common_run_options = 7;
constexpr Opt acquire_options[] = {Opt::read_names,    Opt::write_names, Opt::unless_changed,
                                   Opt::lease,         Opt::wait,        Opt::no_wait,
                                   Opt::conflict_code, Opt::quiet,       Opt::app,
                                   Opt::label,         Opt::patience,    LOCKSET_STORE_OPTIONS};
constexpr Opt renew_options[] = {Opt::lease, Opt::app, Opt::patience, LOCKSET_STORE_OPTIONS};
constexpr Opt release_options[] = {Opt::app, Opt::patience, LOCKSET_STORE_OPTIONS};
constexpr Opt observe_options[] = {Opt::patience, LOCKSET_STORE_OPTIONS};
constexpr Opt validate_options[] = {Opt::json, Opt::patience, LOCKSET_STORE_OPTIONS};
constexpr Opt store_options[] = {LOCKSET_STORE_OPTIONS};
constexpr Opt status_options[] = {Opt::prefix, Opt::older_than, Opt::json, Opt::show_again,
                                  LOCKSET_STORE_OPTIONS};
constexpr Opt list_options[] = {Opt::json, LOCKSET_STORE_OPTIONS};
constexpr Opt set_options[] = {Opt::read_permits, Opt::write_permits, LOCKSET_STORE_OPTIONS};
constexpr Opt unset_options[] = {Opt::read_too, Opt::write_too, LOCKSET_STORE_OPTIONS};
constexpr Opt init_options[] = {Opt::max_lease, Opt::fair,      Opt::print,
                                Opt::programs,  Opt::operators, LOCKSET_STORE_OPTIONS};
constexpr Opt check_history_options[] = {Opt::per_name, Opt::help};
constexpr Opt metrics_options[] = {Opt::output, Opt::expiring_within, LOCKSET_STORE_OPTIONS};
constexpr Opt doctor_options[] = {Opt::json, LOCKSET_STORE_OPTIONS};

constexpr Opt plan_options[] = {Opt::copy_permits, Opt::json, LOCKSET_STORE_OPTIONS};
constexpr Opt advance_options[] = {Opt::watch, Opt::to_phase_ahead, LOCKSET_STORE_OPTIONS};
constexpr Opt migrate_status_options[] = {Opt::json, Opt::show_again, LOCKSET_STORE_OPTIONS};
constexpr Opt rollback_options[] = {Opt::watch, Opt::to_phase_back, LOCKSET_STORE_OPTIONS};
constexpr Opt finish_options[] = {Opt::yes, LOCKSET_STORE_OPTIONS};
constexpr Opt release_new_options[] = {Opt::old_store_gone, Opt::json, LOCKSET_STORE_OPTIONS};

#undef LOCKSET_STORE_OPTIONS

constexpr Command commands[] = {
    {"run",
     "run [NAME]... [--read NAME]... [-w D | -n] [OPTION]... -- COMMAND [ARG]...\n"
     "       lockset run [NAME]... [--read NAME]... [-w D | -n] [OPTION]... -c LINE",
     "run a command while the locks are held",
     R"(Takes the whole set of locks or none of it, runs COMMAND, and releases the locks
when it ends. A bare NAME is locked for writing, as by --write. There is no shell in
between, unless -c gives a LINE for /bin/sh. COMMAND has lockset's standard input, output
and error, and runs in its own process group. That group gets the terminal if lockset has
it, and the signals INT, TERM, HUP, QUIT, USR1, USR2 and WINCH that are sent to lockset.
While lockset still waits for the locks, INT, TERM, HUP and QUIT end the wait.

COMMAND sees LOCKSET_STAMP, the fencing token of the grant; LOCKSET_NAMES, one line
"read NAME" or "write NAME" for each lock; and LOCKSET_FLOORS, for each of these lines
the lowest stamp that may still act on the name (0: the store can't tell).

If the lock is lost (somebody broke it, or the store did not answer until the lease ran
out), COMMAND's process group gets SIGTERM and, after --grace, SIGKILL. The exit code is
79, whatever code COMMAND returned. With --on-lost=ignore COMMAND runs on without the lock,
and the exit code is still 79.

With --unless-changed OBSERVATION (see lockset help observe) the locks are granted only if
nothing was written on any observed name since; the store decides that in the granting step.
Otherwise COMMAND does not run, one line says who wrote what, and the exit code is 80, also
with -E and -q. Every observed name has to be among the locks: --write what COMMAND writes,
--read what it only relies on. With - it is the first line of standard input, and COMMAND
gets the rest.

If lockset itself is stopped (kill -STOP, ^Z), it can't renew the lease, and if it is
killed, it can't stop COMMAND. A small guard process in its own session does that: it ends
COMMAND at once if lockset is gone, or if the lease ends while lockset is stopped. So a job
that was stopped with ^Z for longer than its lease is ended, not continued. With
--on-lost=ignore there is no guard. Processes that leave COMMAND's process group (daemons)
are not ended. With --lease none the locks have no end: after a crash they stay until
somebody breaks them.)",
     R"(  lockset run nightly-report -- /usr/local/bin/report
  lockset run mirror -c 'fetch | unpack >/srv/mirror.log'
  lockset run --write db/prod --read config -w 30s -- ./deploy prod
  lockset run --write backup -n -- backup       # exit 75 if another one runs
  lockset run --write prices --unless-changed "$seen" -- ./upload prices
  # cron on several hosts with clocks that differ by less than a minute:
  lockset run --write hourly -n -E 0 --at-least 60s -- job)",
     run_options, run_command, Operands::names, common_run_options},
    {"acquire", "acquire [NAME]... [--read NAME]... --lease D [-w D | -n] [OPTION]...",
     "take locks that outlive this command, and print their stamp",
     R"(Prints the stamp and ends. The store keeps the locks until `lockset release STAMP`, or until
the lease ends, unless `lockset renew STAMP` renews it in time. With --lease none they last
until they are released or broken. A bare NAME is locked for writing. --unless-changed is as for `lockset run`.)",
     R"(  stamp=$(lockset acquire maintenance --lease 10m) || exit
  ...
  lockset renew "$stamp" --lease 10m
  lockset release "$stamp")",
     acquire_options, acquire_command, Operands::names},
    {"renew", "renew STAMP [--lease D] [OPTION]...", "renew the lease of a hold",
     "Prints the lease that the store granted, counted from now.",
     "  lockset renew 1790000000000001 --lease 5m", renew_options, renew_command, Operands::stamps},
    {"release", "release STAMP [OPTION]...", "release a hold",
     R"(The application id (--app) must be the one that took the hold. `lockset break` ends the hold
of another application.)",
     "  lockset release 1790000000000001", release_options, release_command, Operands::stamps},
    {"observe", "observe NAME... [OPTION]...", "look at names without holding them, for validate",
     R"(Prints one line without blanks, the observation, for `lockset validate` and for
--unless-changed. It waits for no holder and keeps nobody waiting. Observe first, then read;
name all that belongs together in one call. Only a write grant is a change; reads, releases
and the end of leases are none. A "w" at the end of an item says that the name is being
written now; such an item never counts as unchanged. The store remembers a name for a week
after it was last observed; after that it counts as changed. Writers have to take the lock:
a write that takes none leaves no trace.)",
     R"(  seen=$(lockset observe invoice/17 discounts) || exit
  cp invoice-17 mine
  lockset validate "$seen" || exit     # nobody wrote while it was copied
  vi mine                              # nobody is locked out meanwhile
  lockset run --write invoice/17 --read discounts --unless-changed "$seen" -- cp mine invoice-17)",
     observe_options, observe_command, Operands::names},
    {"validate", "validate OBSERVATION [--json] [OPTION]...",
     "say whether anything observed was written since",
     R"(OBSERVATION is what `lockset observe` printed; with - it is the first line of standard input,
which also takes one that is too long for an argument (hundreds of long names).
If nothing was written on any of its names since, prints nothing, and the exit code is 0.
Otherwise prints a line for each name that was: who was granted the write, with which stamp,
and when, as far as the store knows. The exit code is 80 then.)",
     R"(  lockset validate "$seen" && echo 'still the same'
  lockset validate --json "$seen" | jq -r '.changes[].label')",
     validate_options, validate_command},
    {"status", "status [NAME] [--prefix TEXT] [--older-than D] [--watch] [--json] [OPTION]...",
     "show who holds what and who waits",
     R"(The oldest first, then those who wait, and a line that counts them. A set with several names
has one line per name, with the same stamp. AGE compares this host's clock with the store's.
With --older-than the exit code is 1 if anything is shown, for monitoring; nothing else is an
exit code 1 here.)",
     R"(  lockset status
  lockset status --older-than 1h || mail -s 'a lock is stuck' ops </dev/null
  lockset status db/prod
  lockset status --json | jq '.holds[].owner.app')",
     status_options, status_command, Operands::names},
    {"break", "break STAMP [OPTION]...", "end a hold of any application",
     R"(For emergencies: the holder learns of it only at its next renewal, up to a third of its
lease later. Until then it believes that it holds the locks. A stamp is never used twice, so
this can't hit the next holder.)",
     "  lockset break 1790000000000001", store_options, break_command, Operands::stamps},
    {"permits list", "permits list [--json] [OPTION]...", "show how many holds names admit",
     "* is the default of all names that are not listed. Without any entry, each name admits 1\n"
     "read hold or 1 write hold: a read excludes other reads until you allow more.",
     "  lockset permits list", list_options, permits_list},
    {"permits get", "permits get NAME [OPTION]...", "show how many holds a name admits",
     "Shows what applies to NAME, whether it has an entry or takes the default.",
     "  lockset permits get db/prod", store_options, permits_get, Operands::names},
    {"permits set", "permits set NAME [--read N] [--write N] [OPTION]...",
     "set how many holds a name admits at once",
     R"(NAME * sets the default. Lowering permits revokes nothing; it stops new grants. With both
--read and --write there are two changes, one after the other.)",
     R"(  lockset permits set '*' --read 1000           # readers share, everywhere
  lockset permits set licence --write 5)",
     set_options, permits_set, Operands::names},
    {"permits unset", "permits unset NAME [--read] [--write] [OPTION]...",
     "let a name take the default again", "NAME * sets the default back to 1.",
     "  lockset permits unset licence", unset_options, permits_unset, Operands::names},
    {"init",
     "init [--max-lease D] [--fair K | --print] [--program ACCOUNT] [--operator ACCOUNT] "
     "[OPTION]...",
     "make a lock space, or upgrade one",
     R"(Harmless if there is nothing to do. On a server it needs a user that may make tables.
Programs that lock need fewer rights: --program and --operator, which may be repeated, give
them to existing accounts of the store. With --print it prints a script that a user with the
rights can run, and connects to nothing.)",
     R"(  LOCKSET_URL=sqlite:/srv/locks.db lockset init
  lockset init --program app --operator ops --url postgresql://postgres@db/prod
  lockset init --print --url postgresql://app@db/prod | psql -h db -U postgres prod)",
     init_options, init_command},
    {"doctor", "doctor [--json] [OPTION]...", "check whether a store is fit",
     R"(Looks at the store's settings and at the connection to it. Changes no settings and no locks.
Prints for each thing that it checked: ok, a warning with what it weakens, or unsafe with the
remedy. Programs refuse to open an unsafe store. The exit code is 0 if there is nothing worse
than a warning, and 78 otherwise.)",
     R"(  lockset doctor
  lockset doctor --json | jq '.findings[] | select(.level != "ok")')",
     doctor_options, doctor_command},
    {"metrics", "metrics [--output FILE] [--expiring-within D] [OPTION]...",
     "print the numbers of a space for Prometheus",
     R"(Holds, waiters, the longest hold, the oldest wait, holds that expire soon, a quarantine of the
store, and how many things `lockset doctor` finds in its settings. If the store does not answer,
lockset_up is 0, FILE is written all the same, and the exit code is 69 or 78. With --output it
is a job for the textfile collector of Prometheus' node exporter; docs/operations.md says what
to alert on. A hold that is renewed has two thirds of its lease left or more.)",
     R"(  lockset metrics
  lockset metrics --output /var/lib/prometheus/node-exporter/lockset.prom)",
     metrics_options, metrics_command},
    {"migrate plan", "migrate plan [--copy-permits] [--json] [OPTION]...",
     "check what would hinder a move from one store to another",
     R"(Locks move from the store of migrate.from to that of migrate.to while programs run;
docs/migration.md is the runbook. The programs set both addresses instead of url, and follow
the phase, which the stores record:

  old-only   holds stand in the old store alone
  shadow     as before, and the new store is tried beside; nothing depends on it
  dual-old   holds stand in both stores; stamps are the old store's
  dual-new   holds stand in both stores; stamps are the new store's
  new-only   holds stand in the new store alone
  closed     the old store is closed and empty
  finished   the new store is an ordinary space; there is no way back

plan checks permits, leases, rights, names, clocks and present holds. It takes and releases
locks of its own as a probe. It changes nothing else, except with --copy-permits. The exit
code is 0 if `lockset migrate start` would succeed.)",
     R"(  export LOCKSET_MIGRATE_FROM=mysql://app@old/locks LOCKSET_MIGRATE_TO=postgresql://app@new/locks
  lockset migrate plan --copy-permits)",
     plan_options, migrate_plan},
    {"migrate start", "migrate start [OPTION]...", "begin the move: from old-only to shadow",
     "Refuses what `lockset migrate plan` marks as unsafe.", "  lockset migrate start",
     store_options, migrate_start},
    {"migrate advance", "migrate advance [--watch] [--to PHASE] [OPTION]...", "go one phase on",
     R"(Before each step, something must have ended: programs that know only the old store, or holds
that are not in the new store. Until then the step is refused, with one line for each obstacle:
what it is, who causes it, and what to do. The exit code is 75 if the step is blocked only
temporarily, and 78 if somebody has to act. If an obstacle must have been gone for some
seconds, the command waits for them. With --watch it waits while the step is blocked only
temporarily. If it is interrupted, the state is safe, and the same command continues from
there.)",
     R"(  lockset migrate advance
  lockset migrate advance --watch --to new-only)",
     advance_options, migrate_advance},
    {"migrate status", "migrate status [--json] [--watch] [OPTION]...",
     "show the phase, the holds of each phase and the clients seen",
     R"(Clients are seen while they hold locks or wait for them. A client that does not follow knows
only one of the stores. With --watch the status is shown repeatedly until it is interrupted.
If one of the stores is down, it shows what the other one knows.)",
     R"(  lockset migrate status --watch
  lockset migrate status --json | jq '.clients[] | select(.follows | not)')",
     migrate_status_options, migrate_status},
    {"migrate rollback", "migrate rollback [--watch] [--to PHASE] [OPTION]...", "go one phase back",
     R"(Possible until `lockset migrate finish`, and as safe as the way ahead: new stamps are above
all earlier ones. Refuses and waits as `lockset migrate advance` does. From dual-old and
shadow it works without the new store. Programs that use the new space alone are refused
there until `lockset migrate release-new`.)",
     R"(  lockset migrate rollback
  lockset migrate rollback --watch --to old-only)",
     rollback_options, migrate_rollback},
    {"migrate finish", "migrate finish [--yes] [OPTION]...",
     "end a move that is closed; there is no way back",
     R"(The new store becomes an ordinary space. On a terminal the command asks first; elsewhere it
needs --yes.)",
     "  lockset migrate finish", finish_options, migrate_finish},
    {"migrate release-new", "migrate release-new [--old-store-gone] [--json] [OPTION]...",
     "after a rollback: let programs use the new space alone",
     R"(After a rollback to old-only, programs that use the new space alone are refused there, because
the holds are in the old store only. This command lets them in, if no move has begun again.
From then on they take locks there, and the locks of the old store do not count there. With
--old-store-gone the command does without the old store if it does not answer: use it only if
that store never comes back.)",
     R"(  lockset migrate rollback --watch --to old-only
  lockset migrate release-new)",
     release_new_options, migrate_release_new},
    {"check-history", "check-history FILE... [--per-name]",
     "check whether a recorded run kept the promises",
     R"(Reads what the processes of a test run recorded, one FILE per process; a folder stands for
all files in it. Prints each broken promise with the holds and the times that show it, then
counts of what it checked. docs/history-format.md describes the format, and docs/testing.md
the promises. The command asks no store. The exit code is 0 if all promises were kept, 1 if one
was broken or the run shows too little, and 65 if a file can't be read; the message names the
line.)",
     R"(  lockset check-history /tmp/run-17
  lockset check-history controller.log worker-*.log)",
     check_history_options, check_history_command, Operands::files},
};

}  // namespace

std::span<const Command> all_commands() noexcept { return commands; }

const Command& find_command(std::string_view name) {
  std::vector<std::string_view> names{"help"};
  for (const Command& each : commands) {
    if (each.name == name) return each;
    names.push_back(each.name.substr(0, each.name.find(' ')));
  }
  // What other tools call it.
  constexpr std::pair<std::string_view, std::string_view> usual[] = {
      {"list", "status"},  {"ls", "status"},    {"ps", "status"},   {"show", "status"},
      {"locks", "status"}, {"lock", "run"},     {"exec", "run"},    {"unlock", "release"},
      {"kill", "break"},   {"extend", "renew"}, {"check", "doctor"}};
  std::string hint = did_you_mean(name, names, "lockset ");
  for (const auto& [other, ours] : usual) {
    if (other == name) hint = "; did you mean lockset " + std::string(ours) + "?";
  }
  if (hint.empty()) hint = "; see lockset help";
  throw Failure(exit_usage, "there is no command " + in_quotes(name) + hint);
}

void check_operands(const Invocation& invocation, std::size_t least, std::size_t most,
                    std::string_view what) {
  const std::vector<std::string>& operands = invocation.line.operands;
  const std::string expected = "; expected: lockset " + std::string(what);
  if (!invocation.line.child.empty()) {
    throw Failure(exit_usage, "nothing may follow --" + expected);
  }
  if (operands.size() < least) throw Failure(exit_usage, "something is missing" + expected);
  if (operands.size() > most) {
    throw Failure(exit_usage, "too many operands: " + in_quotes(operands[most]) + expected);
  }
}

}  // namespace lockset::cli
