// The only place that maps SQLite's result codes to Lockset's.
#pragma once

#include <string>

#include "lockset/error.h"

namespace lockset::sqlite {

enum class Phase {
  open,    // nothing was changed, and the file may be the wrong one
  work,    // before COMMIT: every change is rolled back
  commit,  // COMMIT itself failed
};

// `code` is an extended result code other than SQLITE_OK, SQLITE_ROW and SQLITE_DONE; `native` is
// SQLite's message.
Error error_from(int code, const std::string& native, const std::string& path, Phase phase);

}  // namespace lockset::sqlite
