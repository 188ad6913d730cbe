// Checks what would go wrong, before anything is begun.
#include <algorithm>

#include "backends/server/server_clock.h"
#include "migration/clients.h"
#include "migration/differences.h"
#include "migration/impl.h"
#include "migration/name_probe.h"

namespace lockset {
namespace {

using Level = Finding::Level;
using std::chrono::microseconds;

// "as ", "20s ahead of " or "20s behind ".
std::string offset_text(microseconds ahead, microseconds blur) {
  if (std::chrono::abs(ahead) <= blur) return "as ";
  return format_duration(std::chrono::ceil<std::chrono::milliseconds>(std::chrono::abs(ahead))) +
         (ahead < microseconds::zero() ? " behind " : " ahead of ");
}

// What programs may rely on in the old store, but not in the new one.
void compare_traits(const Traits& of_old, const Traits& of_new, std::vector<Finding>& found) {
  const auto lost = [&](bool before, bool after, std::string subject, std::string text) {
    if (before && !after) {
      found.push_back({Level::warning, std::move(subject), std::move(text)});
    }
  };
  lost(of_old.permanent_leases, of_new.permanent_leases, "lease = none",
       "the new store keeps no hold without a lease: give those programs one before dual-old");
  lost(of_old.holds_outlive_process, of_new.holds_outlive_process, "lockset acquire",
       "holds in the new store end with the process that took them: use `lockset run` instead of "
       "`lockset acquire`");
  lost(of_old.floors, of_new.floors, "floors",
       "the new store gives no floors: resources that compare against them must not rely on them "
       "from dual-new on");
  lost(of_old.observing, of_new.observing, "observing",
       "the new store keeps no traces of writes: programs that observe names are refused from "
       "dual-new on, and those that open both stores at once");
  lost(of_old.push_wakeup, of_new.push_wakeup, "waking",
       "the new store does not announce a release: waiters look again by themselves, and wait a "
       "little longer");
  lost(of_old.queued_wakeup, of_new.queued_wakeup, "waking in turn",
       "the new store wakes waiters in no order");
  lost(of_old.bounded_overtaking, of_new.bounded_overtaking, "fairness",
       "the new store does not bound how often a waiter is overtaken");
  lost(of_old.lists_waiters, of_new.lists_waiters, "waiters",
       "`lockset status` of the new store does not show who waits");
}

}  // namespace

Result<std::vector<Finding>> Migration::Impl::plan(TimePoint by) {
  std::vector<Finding> found;
  const Result<Seen> seen = look(by);
  if (!seen) return seen.error();
  if (!seen->new_config) return seen->new_trouble;
  const bool begun = seen->stage && seen->stage->phase != MigrationPhase::old_only;
  if (!seen->stage) {
    found.push_back({Level::unsafe, "phase", seen->stage.error().message});
  } else {
    found.push_back({Level::good, "phase", std::string(to_string(seen->stage->phase))});
  }

  compare_traits(old_store.opened()->traits(), new_store.opened()->traits(), found);

  // Rights: try a change that changes nothing, because no configuration has this version.
  for (migrate::SteeredStore* store : {&old_store, &new_store}) {
    const SpaceConfig& config = store == &old_store ? seen->old_config : *seen->new_config;
    const Result<SpaceConfig> asked = store->opened()->change_config(
        SetMigrationPhase{config.migration_phase, std::int64_t{-1}}, by);
    if (asked) {
      found.push_back({Level::good, "rights in " + store->called(), "may change the phase"});
    } else {
      found.push_back({Level::unsafe, "rights in " + store->called(),
                       "the phase can't be changed: " + asked.error().message});
    }
  }

  // Permits and the longest lease.
  const std::vector<std::string> permits =
      migrate::permit_differences(seen->old_config, *seen->new_config);
  for (const std::string& line : permits) {
    found.push_back({Level::unsafe, "permits",
                     line + "; `lockset migrate plan --copy-permits` copies the old store's"});
  }
  if (permits.empty()) found.push_back({Level::good, "permits", "the same in both stores"});
  if (seen->old_config.max_lease == seen->new_config->max_lease) {
    found.push_back(
        {Level::good, "longest lease", format_duration(seen->old_config.max_lease) + " in both"});
  } else {
    found.push_back({Level::unsafe, "longest lease",
                     format_duration(seen->old_config.max_lease) + " in the old store, " +
                         format_duration(seen->new_config->max_lease) +
                         " in the new one; `lockset migrate plan --copy-permits` copies it"});
  }

  if (seen->old_config.max_overtakes != seen->new_config->max_overtakes) {
    found.push_back({Level::warning, "fairness",
                     "the bound of overtaking differs between the stores: `lockset init --fair` "
                     "sets it"});
  }

  // Holds and clients.
  const Result<Inspection> in_old = old_store.inspect(by);
  if (!in_old) return in_old.error();
  const Result<Inspection> in_new = new_store.inspect(by);
  if (!in_new) return in_new.error();
  for (const auto& [inspection, called] :
       {std::pair(&*in_old, old_store.called()), std::pair(&*in_new, new_store.called())}) {
    if (const auto lost = migrate::quarantine_in_the_way(*inspection, called)) {
      found.push_back({Level::warning, "quarantine", lost->shown.text});
    }
  }
  const auto anybody = [](const Owner&) { return true; };
  if (!begun) {
    const std::vector<Obstacle> in_use = migrate::holds_in_the_way(
        *in_new, "the new store", "locks are moved to a space that nobody uses", anybody);
    for (const Obstacle& each : in_use) {
      found.push_back({Level::unsafe, "new space", each.shown.text});
    }
    if (in_use.empty()) found.push_back({Level::good, "new space", "nobody holds anything there"});
    if (seen->new_mark.step == Step::prepared) {
      found.push_back(
          {Level::warning, "new space",
           "it is kept for a move: for one from here that was taken back or is just "
           "begun, or for one from another store, which a start from here would break"});
    }
  }
  if (!new_store.opened()->traits().permanent_leases) {
    Inspection permanent;
    std::ranges::copy_if(in_old->holds, std::back_inserter(permanent.holds),
                         [](const HoldInfo& hold) { return !hold.remaining; });
    for (const Obstacle& each : migrate::holds_in_the_way(
             permanent, "the old store",
             "the new store keeps no hold without a lease: release it before new-only", anybody)) {
      found.push_back({Level::warning, "lease = none", each.shown.text});
    }
  }
  const std::vector<MigrationClient> clients = migrate::clients_of(&*in_old, &*in_new, 0);
  const auto alone =
      std::ranges::count_if(clients, [](const MigrationClient& client) { return !client.follows; });
  found.push_back({Level::good, "clients",
                   std::to_string(clients.size()) + " seen at this moment, " +
                       std::to_string(alone) +
                       " of them of one store alone; these have to be restarted with migrate.from "
                       "and migrate.to before dual-new"});

  // Checks that need probing holds.
  const Result<migrate::NameProbe> of_old = migrate::probe_names(old_store, me, clock, by);
  if (!of_old) return of_old.error();
  const Result<migrate::NameProbe> of_new = migrate::probe_names(new_store, me, clock, by);
  if (!of_new) return of_new.error();
  if (of_old->shown_in(new_store, by)) {
    found.push_back({Level::unsafe, "addresses",
                     "migrate.from and migrate.to are two addresses of the same lock space"});
  }
  const std::size_t before_names = found.size();
  for (std::size_t i = 0; i < of_old->equal.size(); ++i) {
    const bool one = of_old->equal[i];
    const bool two = of_new->equal[i];
    if (!one && !two) continue;
    const std::string where = one && two ? "both stores take"
                              : one      ? "the old store takes"
                                         : "the new store takes";
    found.push_back({one == two ? Level::warning : Level::unsafe, "names",
                     where + " names for equal that differ by " +
                         std::string(migrate::name_variants[i]) +
                         (one == two ? "" : ": sets that hold both would block themselves there")});
  }
  for (const auto& [probe, called] :
       {std::pair(&*of_old, old_store.called()), std::pair(&*of_new, new_store.called())}) {
    if (!probe->refused) continue;
    found.push_back({Level::unsafe, "names",
                     called + " refuses a name of 255 bytes: " + probe->refused->message});
  }
  if (found.size() == before_names) {
    found.push_back({Level::good, "names", "both stores tell the same names apart"});
  }

  // Clocks and stamps.
  for (const auto& [probe, called] :
       {std::pair(&*of_old, old_store.called()), std::pair(&*of_new, new_store.called())}) {
    const bool usual = std::chrono::abs(probe->ahead) <= server::usual_difference;
    found.push_back({usual ? Level::good : Level::warning, "clock of " + called,
                     offset_text(probe->ahead, probe->blur) + "this machine's" +
                         (usual ? "" : ": what is shown of times is off by that")});
  }
  const microseconds between = of_new->ahead - of_old->ahead;
  const bool behind = of_new->stamp < of_old->stamp;
  found.push_back({Level::good, "stamps",
                   "the new store's clock is " + offset_text(between, of_old->blur + of_new->blur) +
                       "the old one's; " +
                       (behind ? "its stamps are lower now, and are raised above the old ones at "
                                 "the switch to dual-new"
                               : "its stamps are higher already")});
  return found;
}

Result<std::size_t> Migration::Impl::copy_permits(TimePoint by) {
  const Result<Seen> seen = look(by);
  if (!seen) return seen.error();
  if (!seen->new_config) return seen->new_trouble;
  if (!seen->stage) return seen->stage.error();
  if (seen->stage->phase > MigrationPhase::dual_new) {
    return Error{Errc::misconfigured,
                 "locks have moved already: the old store's permits don't count any more"};
  }
  const std::vector<ConfigChange> changes =
      migrate::changes_to_copy(seen->old_config, *seen->new_config);
  for (const ConfigChange& change : changes) {
    if (Status fit = check_change(change); !fit) return fit.error();
    const Result<SpaceConfig> done = new_store.opened()->change_config(change, by);
    if (!done) return new_store.named(done.error());
  }
  return changes.size();
}

}  // namespace lockset
