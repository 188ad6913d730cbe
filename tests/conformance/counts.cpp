#include "tests/conformance/counts.h"

#include <fstream>
#include <map>
#include <sstream>

#include "tests/conformance/availability.h"
#include "tests/conformance/harness.h"

namespace lockset::conformance {

std::vector<std::string> count_mismatches(const Report& report, const std::string& filter,
                                          const std::string& file) {
  std::ifstream in(file);
  if (!in) return {"can't read the expected number of tests from " + file};
  std::map<std::string, std::size_t> expected;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string name;
    std::size_t count = 0;
    if (words >> name >> count) expected[name] = count;
  }
  std::vector<std::string> mismatches;
  for (Harness* harness : all_harnesses()) {
    const std::string name = harness->name();
    if (filter != "*" && filter != "*/" + name) continue;
    if (availability(*harness).unavailable) continue;
    const auto tally = report.tallies().find(name);
    const std::size_t ran = tally == report.tallies().end() ? 0 : tally->second.ran;
    const auto line = expected.find(name);
    if (line == expected.end()) {
      mismatches.push_back(name + " ran " + std::to_string(ran) + " tests, but is not in " + file +
                           ": add the line \"" + name + " " + std::to_string(ran) + "\"");
    } else if (line->second != ran) {
      mismatches.push_back(
          name + " ran " + std::to_string(ran) + " tests, but " + file + " says " +
          std::to_string(line->second) +
          (ran < line->second
               ? ": find out which vanished, and lower the number only if it was meant"
               : ": raise the number, so that none of them can vanish unseen"));
    }
  }
  return mismatches;
}

}  // namespace lockset::conformance
