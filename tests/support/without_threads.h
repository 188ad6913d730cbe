// What a library does where no thread is to be had.
#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>

namespace lockset::test {

// Calls body(limit) in a child of this process: once it has called limit(), no further thread can
// be started in it. True if the body returned true; a message otherwise goes to standard error.
template <class Body>
bool succeeds_without_threads(const Body& body) {
  const pid_t child = ::fork();
  if (child < 0) return false;
  if (child == 0) {
    const auto limit = [] {
      // Root is not kept to it.
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
