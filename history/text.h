// A history as text, with one line per event: a process that is killed loses at most the last line,
// and people can read it.
//
//   lockset-history 1 worker-3
//   81234567890123 ask op=1 set=w:ws2/1,r:ws1/1000 lease=2000000000 wait=0
//   81234568890123 granted op=1 stamp=1795214387205106 until=81236367890123 floors=
//
// Times and durations are nanoseconds or "forever". Names are percent-encoded: of their bytes only
// letters, digits, '_', '.' and '-' are written as they are. All fields of a kind are present, in
// one fixed order.
#pragma once

#include <string>
#include <string_view>

#include "history/event.h"
#include "lockset/error.h"

namespace lockset::history {

// "lockset-history 1 PROCESS\n".
std::string print_header(std::string_view process);
// One line, with its newline.
std::string print(const Event& event);

// The inverse of print; takes the line without its newline. Errc::invalid for anything else.
Result<Event> parse(std::string_view line);

// Parses a whole file. A last line without a newline was cut and does not count. A file that was
// cut in its first line is an empty log of no process. Errc::invalid names the line and `source`,
// which becomes Log::source.
Result<Log> parse_log(std::string_view text, std::string source);

}  // namespace lockset::history
