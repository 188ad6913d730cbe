// What a migration's run has shown, for people.
#pragma once

#include <string>
#include <vector>

#include "history/event.h"
#include "tests/chaos/migration/failures.h"
#include "tests/chaos/migration/migration_course.h"

namespace lockset::chaos {

// The parts of the course with their figures, the reasons for which steps had to wait and acquires
// failed, and those that failed for none.
std::string migration_report(const MigrationCourse& course, const history::History& history,
                             const std::vector<Failure>& failures);

}  // namespace lockset::chaos
