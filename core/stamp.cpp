#include "lockset/stamp.h"

#include <sys/random.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

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

}  // namespace

Token Token::random() {
  Token token;
  fill_random(token.bytes.data(), token.bytes.size());
  return token;
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
