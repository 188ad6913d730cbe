#include "backends/server/openssl_at_exit.h"

#include <dlfcn.h>

#include <cstdint>

namespace lockset::server {

void keep_openssl_during_exit() {
  // The function of the client libraries' OpenSSL, which may differ from the one at build time.
  using Init = int (*)(std::uint64_t options, const void* settings);
  const auto init = reinterpret_cast<Init>(::dlsym(RTLD_DEFAULT, "OPENSSL_init_crypto"));
  constexpr std::uint64_t no_atexit = 0x00080000;  // OPENSSL_INIT_NO_ATEXIT, since 1.1.1
  if (init != nullptr) init(no_atexit, nullptr);
}

void forget_openssl_errors() {
  using Clear = void (*)();
  static const auto clear = reinterpret_cast<Clear>(::dlsym(RTLD_DEFAULT, "ERR_clear_error"));
  if (clear != nullptr) clear();
}

namespace {

// Runs before main, and so before a program's own OpenSSL calls.
[[maybe_unused]] const bool kept = (keep_openssl_during_exit(), true);

}  // namespace
}  // namespace lockset::server
