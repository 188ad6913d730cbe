// Drives clients of a store against each other on a few hot names, records all that they ask
// and are told, and holds it against the rules, until it has seen enough.
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

// What the clients do. Shares are from 0 to 1.
struct Load {
  std::size_t clients = 4;
  // How long they go on before the next look at what there is.
  Duration round = std::chrono::milliseconds(10);
  std::size_t names = 2;        // "a", "b" ...
  std::size_t largest_set = 2;  // names asked for at once
  double reads = 0.5;
  // Of "a"; set before the load begins.
  Permits permits{};
  Duration lease = std::chrono::seconds(10);
  // How long a hold is kept at most, if it is not one of the next two kinds; and how long
  // one who was refused pauses at most.
  Duration keep = std::chrono::microseconds(300);
  // Holds that are kept by renewals for two leases.
  double renewed = 0;
  // Holds that are kept for one and a half leases without renewals, and released all the same.
  double overstaying = 0;
  // Of these, how many are renewed first.
  double renewed_late = 0;
  // Holds that are released twice.
  double released_twice = 0;
  // Holds that nobody releases. Then the run ends with a look at what is left.
  double given_up = 0;
  // One more client looks at the whole store again and again.
  bool pictures = false;
  // One more client changes the permits of "a" again and again.
  bool changing_permits = false;
  // Of each name; every holder uses it when it comes and before it goes.
  // Null: there are none.
  MakeResource resource = nullptr;
};

// The store, as one more client opens it.
using Connect = std::function<std::shared_ptr<Backend>()>;

// What the checker asks of stores that are quick and end leases in time. lost() is not noted.
history::Rules strict_rules();

struct Scene {
  Connect connect;
  Load load{};
  history::Rules rules = strict_rules();
};

// Rounds of the load until `enough` of what was found, or until `limit`.
history::Report drive(const Scene& scene, const std::function<bool(const history::Report&)>& enough,
                      Duration limit = std::chrono::seconds(60));

// The checker complains of `meant`, which is this mistake's own mark, and of nothing but that
// and `also`.
void expect_flagged(const Scene& scene, Invariant meant, const std::vector<Invariant>& also = {});
// Under the same load it has nothing to complain of, and the run shows enough.
void expect_sound(const Scene& scene);

}  // namespace lockset::mutants
