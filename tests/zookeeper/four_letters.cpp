#include "tests/zookeeper/four_letters.h"

#include <sstream>
#include <stdexcept>

#include "tests/zookeeper/loopback.h"

namespace lockset::test {

std::string four_letters(std::uint16_t port, const std::string& word) { return say_to(port, word); }

std::int64_t monitored(std::uint16_t port, const std::string& name) {
  std::istringstream lines(four_letters(port, "mntr"));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name + "\t")) return std::stoll(line.substr(name.size() + 1));
  }
  throw std::runtime_error("mntr does not tell of " + name);
}

}  // namespace lockset::test
