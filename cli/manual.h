// Manual pages, from the same definitions as the help.
#pragma once

#include <string>

namespace lockset::cli {

// Writes lockset.1, a page for each command (lockset-permits-list.1), lockset.conf.5 and
// lockset-backends.7 into the folder, which it makes if it is missing. Throws a Failure if it
// can't.
void write_manual(const std::string& folder);

}  // namespace lockset::cli
