#include "tools/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

namespace lockset::tools {
namespace {

std::atomic<int> times = 0;

void note() {
  if (++times > 1) _exit(128 + SIGINT);
}

void on_term(int) { note(); }

}  // namespace

void catch_interrupts() {
  // Ignored and blocked: a blocked signal is kept for sigwait even if it is ignored, and a child
  // that inherits both is not hit by it.
  std::signal(SIGINT, SIG_IGN);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::thread([set] {
    for (int signal = 0; sigwait(&set, &signal) == 0;) note();
  }).detach();
  std::signal(SIGTERM, on_term);
  std::signal(SIGHUP, on_term);
}

bool interrupted() noexcept { return times > 0; }

}  // namespace lockset::tools
