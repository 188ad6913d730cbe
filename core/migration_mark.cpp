#include "core/migration_mark.h"

#include <string>

namespace lockset {
namespace {

constexpr int step_bits = 8;
constexpr std::int64_t step_mask = (1 << step_bits) - 1;

bool known(std::int64_t step) { return (step >= 1 && step <= 6) || (step >= 8 && step <= 10); }

}  // namespace

Result<MigrationMark> MigrationMark::decode(std::int64_t phase) {
  if (phase == 0) return MigrationMark{};
  const std::int64_t step = phase & step_mask;
  const std::int64_t migration = phase >> step_bits;
  if (step == MigrationMark::node_of_quorum) {
    return Error{Errc::misconfigured,
                 "this lock space is a node of a quorum, and locks taken here alone would not "
                 "count: use the address of the quorum (quorum:?of=...)"};
  }
  if (!known(step) || migration <= 0 || migration > UINT32_MAX) {
    return Error{Errc::misconfigured,
                 "the lock space takes part in a migration that this version of Lockset does not "
                 "know (phase " +
                     std::to_string(phase) + "): use a newer one"};
  }
  return MigrationMark{static_cast<Step>(step), static_cast<std::uint32_t>(migration)};
}

std::int64_t MigrationMark::encode() const noexcept {
  return (static_cast<std::int64_t>(migration) << step_bits) | static_cast<std::int64_t>(step);
}

Status may_use_alone(std::int64_t migration_phase) {
  using Step = MigrationMark::Step;
  const Result<MigrationMark> mark = MigrationMark::decode(migration_phase);
  if (!mark) return mark.error();
  switch (mark->step) {
    case Step::none:
    case Step::shadow:
    case Step::dual_old:
    case Step::open:
    case Step::done:
      return {};
    case Step::to_new:
    case Step::to_old:
      return Error{Errc::unavailable,
                   "the lock space is being switched to another phase of its migration; this "
                   "lasts for moments"};
    case Step::dual_new:
      return Error{Errc::misconfigured,
                   "this lock space is on the move to another store, and locks taken here alone "
                   "would not count: set migrate.from and migrate.to (see `lockset help migrate`)"};
    case Step::closed:
      return Error{Errc::misconfigured,
                   "this lock space has moved to another store and is closed: set the address of "
                   "the new one"};
    case Step::prepared:
      return Error{
          Errc::misconfigured,
          "locks are still on the move to this lock space, and taken here alone would "
          "not count yet: set migrate.from and migrate.to (see `lockset help migrate`), or, "
          "if the move was given up, give the space free with `lockset migrate "
          "release-new`"};
  }
  return {};
}

}  // namespace lockset
