// Tests what a library does if no thread can be started.
#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>

namespace lockset::test {

// Calls body(limit) in a child of this process: after the body calls limit(), no further thread can
// be started there. True if the body returned true; otherwise a message goes to standard error.
template <class Body>
bool succeeds_without_threads(const Body& body) {
  const pid_t child = ::fork();
  if (child < 0) return false;
  if (child == 0) {
    const auto limit = [] {
      // The limit does not apply to root.
      constexpr uid_t nobody = 65534;
      if (::geteuid() == 0 && ::setresuid(nobody, nobody, nobody) != 0) ::_exit(3);
      const rlimit none{1, 1};
      if (::setrlimit(RLIMIT_NPROC, &none) != 0) ::_exit(3);
    };
    bool good = false;
    try {
      good = body(limit);
    } catch (const std::exception& thrown) {
      std::fprintf(stderr, "thrown: %s\n", thrown.what());
    }
    ::_exit(good ? 0 : 1);
  }
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace lockset::test
