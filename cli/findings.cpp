#include "cli/findings.h"

#include <algorithm>

#include "tools/table.h"

namespace lockset::cli {

using namespace tools;

using Level = Finding::Level;

std::string_view word_of(Level level) {
  switch (level) {
    case Level::good:
      return "ok";
    case Level::warning:
      return "warning";
    case Level::unsafe:
      return "unsafe";
  }
  return "unsafe";
}

Level worst_of(const std::vector<Finding>& findings) {
  Level worst = Level::good;
  for (const Finding& each : findings) worst = std::max(worst, each.level);
  return worst;
}

std::string table_of(const std::vector<Finding>& findings) {
  Table table({"RESULT", "SUBJECT", "FINDING"});
  for (const Finding& each : findings) {
    table.add({std::string(word_of(each.level)), harmless(each.subject), harmless(each.text)});
  }
  return table.text();
}

nlohmann::ordered_json json_of(const std::vector<Finding>& findings) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Finding& each : findings) {
    list.push_back(
        {{"level", word_of(each.level)}, {"subject", each.subject}, {"text", each.text}});
  }
  return list;
}

}  // namespace lockset::cli
