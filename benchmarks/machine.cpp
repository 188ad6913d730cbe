#include "benchmarks/machine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <string>
#include <thread>

namespace lockset::bench {
namespace {

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::string kernel() {
  utsname name{};
  if (uname(&name) != 0) return "unknown";
  return std::string(name.sysname) + " " + name.release;
}

}  // namespace

nlohmann::ordered_json machine() {
  const double bytes =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  return {{"processor", processor()},
          {"cores", std::thread::hardware_concurrency()},
          {"memory_gib", std::lround(bytes / (1 << 30))},
          {"kernel", kernel()},
          {"compiler", LOCKSET_BENCH_COMPILER},
          {"build", LOCKSET_BENCH_BUILD}};
}

}  // namespace lockset::bench
