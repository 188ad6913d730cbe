// The list of the deliberate mistakes.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lockset/backend.h"

namespace lockset::broken {

// Wraps a sound backend. All clients of a space share the result.
using Make = std::shared_ptr<Backend> (*)(std::shared_ptr<Backend> sound);

struct Flaw {
  std::string_view name;
  Make make;
  // "Suite.Test": each of these tests must fail. Their suites are run; if every test of a suite
  // would run into its timeout, only these tests are run.
  std::vector<std::string> must_fail;
  bool only_these = false;
};

std::span<const Flaw> all_flaws();

// admission_flaws.cpp
std::shared_ptr<Backend> busy_leaves_a_part(std::shared_ptr<Backend> sound);
std::shared_ptr<Backend> config_version_ignored(std::shared_ptr<Backend> sound);
std::shared_ptr<Backend> only_at_version_ignored(std::shared_ptr<Backend> sound);
std::shared_ptr<Backend> only_at_version_looked_at_before(std::shared_ptr<Backend> sound);
std::shared_ptr<Backend> duplicate_makes_a_second_hold(std::shared_ptr<Backend> sound);
std::shared_ptr<Backend> permits_off_by_one(std::shared_ptr<Backend> sound);
std::shared_ptr<Backend> names_taken_one_by_one(std::shared_ptr<Backend> sound);
std::shared_ptr<Backend> members_expire_one_by_one(std::shared_ptr<Backend> sound);
// name_flaws.cpp
std::shared_ptr<Backend> case_ignored(std::shared_ptr<Backend> sound);
std::shared_ptr<Backend> trailing_blanks_ignored(std::shared_ptr<Backend> sound);
std::shared_ptr<Backend> reader_check_left_out(std::shared_ptr<Backend> sound);
// stamp_flaws.cpp
std::shared_ptr<Backend> stamp_goes_back(std::shared_ptr<Backend> sound);
std::shared_ptr<Backend> minimum_stamp_ignored(std::shared_ptr<Backend> sound);
std::shared_ptr<Backend> stamp_base_ignored(std::shared_ptr<Backend> sound);
std::shared_ptr<Backend> floor_is_the_own_stamp(std::shared_ptr<Backend> sound);
// owner_flaws.cpp
std::shared_ptr<Backend> release_ignores_application(std::shared_ptr<Backend> sound);
std::shared_ptr<Backend> release_succeeds_twice(std::shared_ptr<Backend> sound);
std::shared_ptr<Backend> renewal_ignores_application(std::shared_ptr<Backend> sound);
std::shared_ptr<Backend> break_ignores_stamp(std::shared_ptr<Backend> sound);
std::shared_ptr<Backend> reclaim_keeps_lower_epochs(std::shared_ptr<Backend> sound);
// lease_flaws.cpp
std::shared_ptr<Backend> lease_halved(std::shared_ptr<Backend> sound);
std::shared_ptr<Backend> lease_never_ends(std::shared_ptr<Backend> sound);
std::shared_ptr<Backend> renewal_revives(std::shared_ptr<Backend> sound);
std::shared_ptr<Backend> renewal_shortens(std::shared_ptr<Backend> sound);
std::shared_ptr<Backend> permanent_has_an_end(std::shared_ptr<Backend> sound);
std::shared_ptr<Backend> sweep_does_nothing(std::shared_ptr<Backend> sound);
// answer_flaws.cpp
std::shared_ptr<Backend> inspect_shows_a_part(std::shared_ptr<Backend> sound);
std::shared_ptr<Backend> resolve_finds_nothing(std::shared_ptr<Backend> sound);
std::shared_ptr<Backend> resolve_finds_the_dead(std::shared_ptr<Backend> sound);
std::shared_ptr<Backend> release_wakes_nobody(std::shared_ptr<Backend> sound);
// convert_flaws.cpp
std::shared_ptr<Backend> conversion_shortens_the_lease(std::shared_ptr<Backend> sound);
std::shared_ptr<Backend> converted_in_two_steps(std::shared_ptr<Backend> sound);
std::shared_ptr<Backend> gone_is_granted(std::shared_ptr<Backend> sound);
std::shared_ptr<Backend> old_stamp_lives_on(std::shared_ptr<Backend> sound);
std::shared_ptr<Backend> upgrade_ignores_application(std::shared_ptr<Backend> sound);
std::shared_ptr<Backend> upgrade_passes_the_line(std::shared_ptr<Backend> sound);
// trace_flaws.cpp
std::shared_ptr<Backend> being_written_not_said(std::shared_ptr<Backend> sound);
std::shared_ptr<Backend> condition_ignored(std::shared_ptr<Backend> sound);
std::shared_ptr<Backend> condition_looked_at_before(std::shared_ptr<Backend> sound);
std::shared_ptr<Backend> trace_made_beside_writes(std::shared_ptr<Backend> sound);
std::shared_ptr<Backend> write_leaves_no_trace(std::shared_ptr<Backend> sound);

}  // namespace lockset::broken
