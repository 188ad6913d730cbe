// The checker against stores in memory with one mistake each: the invariant that is meant for the
// mistake reports it, and others if and only if the mistake breaks them too. Under the very same
// load the sound store passes.
#include <gtest/gtest.h>

#include <ostream>

#include "lockset/memory_backend.h"
#include "tests/conformance/broken/flaws.h"
#include "tests/mutants/flaws.h"
#include "tests/mutants/load.h"

namespace lockset::mutants {
namespace {

using namespace std::chrono_literals;

struct Mutant {
  const char* name;
  broken::Make make;
  Invariant meant;
  std::vector<Invariant> also;
  Load load;
  // For the run with the sound store.
  history::Expect least = {.grants = 200, .overlaps = 20, .busy = 10, .faults = 0};
  std::vector<Invariant> perhaps{};
};

void PrintTo(const Mutant& mutant, std::ostream* out) { *out << mutant.name; }

constexpr auto exclusion = Invariant::exclusion;
constexpr auto fencing = Invariant::fencing;
constexpr auto atomic_sets = Invariant::atomic_sets;
constexpr auto busy = Invariant::busy;
constexpr auto lease = Invariant::lease;
constexpr auto resource = Invariant::resource;
constexpr auto leaks = Invariant::leaks;
constexpr auto permits = Invariant::permits;
constexpr auto observing = Invariant::observing;

// Leases that end while the load continues.
Load brief(Load load) {
  load.lease = 150ms;
  load.round = 400ms;
  load.keep = 4ms;
  return load;
}
constexpr history::Expect some = {.grants = 12, .overlaps = 10, .busy = 5, .faults = 0};

// A store that breaks exclusion breaks the order of the stamps too: no order explains the grants.
const Mutant mutants[] = {
    {"reader_check_left_out", broken::reader_check_left_out, exclusion, {fencing}, {}},
    {"permits_off_by_one",
     broken::permits_off_by_one,
     exclusion,
     {fencing},
     {.names = 1, .largest_set = 1, .permits = {2, 2}}},
    {"renewal_without_asking",
     renewal_without_asking,
     exclusion,
     {fencing},
     brief({.renewed = 0.3}),
     some,
     // A renewal that comes after the certain end: only if the client stood still for so long.
     {lease}},
    {"lease_halved", broken::lease_halved, exclusion, {fencing}, brief({.overstaying = 0.3}), some},
    {"release_by_name",
     release_by_name,
     exclusion,
     {fencing},
     brief({.names = 1, .largest_set = 1, .reads = 0, .overstaying = 0.4}),
     some},
    {"stamp_before_the_lock", stamp_before_the_lock, fencing, {}, {}},
    {"stamp_goes_back", broken::stamp_goes_back, fencing, {}, {}},
    {"names_taken_one_by_one",
     broken::names_taken_one_by_one,
     atomic_sets,
     {busy},
     {.largest_set = 2, .snapshots = true}},
    {"members_expire_one_by_one",
     broken::members_expire_one_by_one,
     atomic_sets,
     {exclusion, fencing},
     brief({.largest_set = 2, .overstaying = 0.3, .snapshots = true}),
     some,
     // The first member, taken for a moment for a set that is then refused.
     {busy}},
    {"busy_leaves_a_part", broken::busy_leaves_a_part, busy, {}, brief({}), some},
    {"busy_without_reason", busy_without_reason, busy, {}, {}},
    {"witness_of_before", witness_of_before, busy, {}, {}},
    {"renewal_revives",
     broken::renewal_revives,
     lease,
     {busy},
     brief({.overstaying = 0.3, .renewed_late = 1}),
     some},
    {"release_succeeds_twice", broken::release_succeeds_twice, lease, {}, {.released_twice = 0.2}},
    {"floor_is_the_own_stamp",
     broken::floor_is_the_own_stamp,
     resource,
     {},
     {.names = 1, .largest_set = 1, .reads = 0.9, .permits = {3, 1}, .resource = right_resource}},
    {"lease_never_ends",
     broken::lease_never_ends,
     leaks,
     {busy},
     brief({.names = 20, .given_up = 0.1}),
     some},
    {"config_version_ignored",
     broken::config_version_ignored,
     permits,
     {},
     {.names = 1, .largest_set = 1, .changing_permits = true}},
    {"write_leaves_no_trace", broken::write_leaves_no_trace, observing, {}, {.observed = 0.5}},
    {"being_written_not_said", broken::being_written_not_said, observing, {}, {.observed = 0.5}},
    {"condition_ignored", broken::condition_ignored, observing, {}, {.observed = 0.5}},
    {"condition_looked_at_before",
     broken::condition_looked_at_before,
     observing,
     {},
     {.observed = 0.5}},
};

class Memory : public testing::TestWithParam<Mutant> {
 protected:
  // All clients share what `make` returns.
  static Scene scene(broken::Make make) {
    const std::shared_ptr<Backend> store = make(make_memory_backend(make_memory_store()));
    Scene scene;
    scene.connect = [store] { return store; };
    scene.load = GetParam().load;
    scene.rules.least = GetParam().least;
    return scene;
  }
};

TEST_P(Memory, IsFlagged) {
  expect_flagged(scene(GetParam().make), GetParam().meant, GetParam().also, GetParam().perhaps);
}

TEST_P(Memory, AndTheSoundStorePasses) {
  expect_sound(scene([](std::shared_ptr<Backend> sound) { return sound; }));
}

INSTANTIATE_TEST_SUITE_P(Mutants, Memory, testing::ValuesIn(mutants),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace lockset::mutants
