// The results of a migration run, for people.
#pragma once

#include <string>
#include <vector>

#include "history/event.h"
#include "tests/chaos/migration/failures.h"
#include "tests/chaos/migration/migration_course.h"

namespace lockset::chaos {

// The parts of the course with their figures, the reasons why steps had to wait and acquires
// failed, and the acquires that failed without a reason.
std::string migration_report(const MigrationCourse& course, const history::History& history,
                             const std::vector<FailedCall>& failures);

}  // namespace lockset::chaos
