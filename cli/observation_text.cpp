#include "cli/observation_text.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tools/failure.h"

namespace lockset::cli {

using namespace tools;
namespace {

// Byte by byte, as the shell's `read` does: what was read can't be given back to a pipe.
std::string line_of_standard_input() {
  constexpr std::size_t most = 1 << 20;  // more than 256 names of 255 bytes need
  std::string line;
  for (char c = 0;;) {
    const ssize_t count = ::read(STDIN_FILENO, &c, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      throw Failure(exit_usage, std::string("can't read the observation from standard input: ") +
                                    std::strerror(errno));
    }
    if (count == 0 || c == '\n') break;
    line += c;
    if (line.size() > most) {
      throw Failure(exit_usage, "the first line of standard input is too long for an observation");
    }
  }
  if (line.ends_with('\r')) line.pop_back();
  return line;
}

}  // namespace

Observation observation_of(const std::string& text, const std::string& what) {
  const bool piped = text == "-";
  const std::string line = piped ? line_of_standard_input() : text;
  if (line.empty()) {
    throw Failure(exit_usage, (piped ? "the first line of standard input" : what) +
                                  " is empty; expected what lockset observe printed");
  }
  return or_fail(Observation::parse(line));
}

}  // namespace lockset::cli
