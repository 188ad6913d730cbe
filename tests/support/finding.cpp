#include "tests/support/finding.h"

#include "lockset/lockset.h"
#include "tests/support/wait.h"

namespace lockset::test {

std::string finding(const std::string& url, const std::string& subject) {
  for (const Finding& one : examine_space(url, soon()).value()) {
    if (one.subject != subject) continue;
    const bool unsafe = one.level == Finding::Level::unsafe;
    return (unsafe                                 ? "unsafe: "
            : one.level == Finding::Level::warning ? "warning: "
                                                   : "good: ") +
           one.text;
  }
  return {};
}

}  // namespace lockset::test
