#include "tests/chaos/migration/helm.h"

namespace lockset::chaos {
namespace {

Result<MigrationPhase> make(Migration& migration, Act act, TimePoint by) {
  switch (act) {
    case Act::start: {
      const Result<std::size_t> copied = migration.copy_permits(by);
      if (!copied) return copied.error();
      return migration.start(by);
    }
    case Act::advance:
      return migration.advance(by);
    case Act::roll_back:
      return migration.roll_back(by);
    case Act::finish:
      return migration.finish(by);
  }
  return Error{Errc::internal, "no such act"};
}

}  // namespace

Helm by_library() {
  return
      [](Migration& migration, Act act, MigrationPhase to, TimePoint by) -> std::optional<Error> {
        const Result<MigrationPhase> made = make(migration, act, by);
        if (!made) return made.error();
        if (*made == to) return {};
        return Error{Errc::internal, "the step led to the phase " + std::string(to_string(*made))};
      };
}

}  // namespace lockset::chaos
