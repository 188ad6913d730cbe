// Makes clients of a store compete for a few hot names, records everything that they ask and are
// told, and checks it against the rules, until it has seen enough.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "history/check.h"
#include "lockset/backend.h"
#include "tests/mutants/resource.h"

namespace lockset::mutants {

using history::Invariant;

// The actions of the clients. Shares are from 0 to 1.
struct Load {
  std::size_t clients = 4;
  // How long they continue before the next check of the history.
  Duration round = std::chrono::milliseconds(10);
  std::size_t names = 2;        // "a", "b" ...
  std::size_t largest_set = 2;  // names asked for at once
  double reads = 0.5;
  // The permits of "a"; set before the load begins.
  Permits permits{};
  Duration lease = std::chrono::seconds(10);
  // The longest time that a hold is kept if it is not of one of the next two kinds, and the longest
  // pause of a client that was refused.
  Duration keep = std::chrono::microseconds(300);
  // Holds that are kept by renewals for two leases.
  double renewed = 0;
  // Holds that are kept for one and a half leases without renewals, and then still released.
  double overstaying = 0;
  // The share of these that is renewed first.
  double renewed_late = 0;
  // Holds that are released twice.
  double released_twice = 0;
  // Acquires before which their names are observed, and which then depend on it; or the names are
  // only observed once more.
  double observed = 0;
  // Holds that nobody releases. Then the run ends with a look at what is left.
  double given_up = 0;
  // An additional client looks at the whole store again and again.
  bool snapshots = false;
  // An additional client changes the permits of "a" again and again.
  bool changing_permits = false;
  // One per name; every holder uses it when it comes and before it goes. Null: there are none.
  MakeResource resource = nullptr;
};

// The store, opened by an additional client.
using Connect = std::function<std::shared_ptr<Backend>()>;

// The rules for stores that are quick and end leases in time. lost() is not recorded.
history::Rules strict_rules();

struct Scene {
  Connect connect;
  Load load{};
  history::Rules rules = strict_rules();
};

// Runs rounds of the load until `enough` is true for the findings, or until `limit`, which only a
// mistake that can't show reaches: some show by chance.
history::Report drive(const Scene& scene, const std::function<bool(const history::Report&)>& enough,
                      Duration limit = std::chrono::minutes(10));

// The checker reports `meant`, the invariant for this mistake, and each of `also`, which the
// mistake breaks as well. It reports nothing else, except perhaps `perhaps`: what shows by rare
// chance, or on a busy machine. Ends as soon as all of `meant` and `also` are reported.
void expect_flagged(const Scene& scene, Invariant meant, const std::vector<Invariant>& also = {},
                    const std::vector<Invariant>& perhaps = {});
// Under the same load the checker reports nothing, and the run shows enough.
void expect_sound(const Scene& scene);

}  // namespace lockset::mutants
