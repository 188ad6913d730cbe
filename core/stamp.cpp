#include "lockset/stamp.h"

#include <sys/random.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include "core/fork_guard.h"

namespace lockset {

namespace {

void fill_random(std::uint8_t* to, std::size_t size) {
  while (size > 0) {
    const ssize_t got = getrandom(to, size, 0);
    if (got < 0) {
      if (errno == EINTR) continue;
      std::perror("lockset: getrandom");  // no kernel that Lockset runs on lacks it
      std::abort();
    }
    to += got;
    size -= static_cast<std::size_t>(got);
  }
}

static_assert(sizeof(Token) == 16, "tokens are filled as one run of bytes");

}  // namespace

Token Token::random() {
  // One system call for many tokens. A forked child must not go on with its parent's.
  struct Supply {
    std::array<Token, 16> tokens;
    std::size_t left = 0;
    ForkGuard filled_in;
  };
  thread_local Supply supply;
  if (supply.left == 0 || supply.filled_in.in_child()) {
    fill_random(reinterpret_cast<std::uint8_t*>(supply.tokens.data()), sizeof supply.tokens);
    supply.left = supply.tokens.size();
    supply.filled_in = ForkGuard();
  }
  return supply.tokens[--supply.left];
}

std::string Token::hex() const {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::uint8_t byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

}  // namespace lockset
