#include "cli/output.h"

#include <cstdio>

namespace lockset::cli {

void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace lockset::cli
