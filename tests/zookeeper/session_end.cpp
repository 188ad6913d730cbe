#include "tests/zookeeper/session_end.h"

#include <stdexcept>
#include <string>

#include "tests/zookeeper/loopback.h"

namespace lockset::test {
namespace {

void add_number(std::string& bytes, std::uint64_t number, unsigned size) {
  while (size-- > 0) bytes += static_cast<char>(number >> (8 * size));
}

// As the servers do: java.util.Random, seeded with the number and a constant.
std::string password_of(std::int64_t id) {
  constexpr std::uint64_t multiplier = 0x5DEECE66D;
  constexpr std::uint64_t mask = (std::uint64_t{1} << 48U) - 1;
  std::uint64_t state = ((static_cast<std::uint64_t>(id) ^ 0xB3415C00) ^ multiplier) & mask;
  std::string password;
  while (password.size() < 16) {
    state = (state * multiplier + 11) & mask;
    const auto word = static_cast<std::uint32_t>(state >> 16U);
    for (unsigned byte = 0; byte < 4; ++byte) password += static_cast<char>(word >> (8 * byte));
  }
  return password;
}

std::string frame(const std::string& bytes) {
  std::string framed;
  add_number(framed, bytes.size(), 4);
  return framed + bytes;
}

}  // namespace

void end_session(std::uint16_t port, std::int64_t id) {
  std::string connect;
  add_number(connect, 0, 4);  // version of the protocol
  add_number(connect, 0, 8);  // zxid seen
  add_number(connect, 10'000, 4);
  add_number(connect, static_cast<std::uint64_t>(id), 8);
  add_number(connect, 16, 4);
  connect += password_of(id);
  connect += '\0';  // not to a read-only server
  std::string close;
  add_number(close, 1, 4);
  add_number(close, static_cast<std::uint32_t>(-11), 4);
  // Sent together: its client, which is disconnected, comes back at once.
  const std::string answer = say_to(port, frame(connect) + frame(close));
  // Length, version, timeout: greater than zero for an existing session.
  if (answer.size() < 12 || answer.substr(8, 4) == std::string(4, '\0')) {
    throw std::runtime_error("there is no session " + std::to_string(id));
  }
}

}  // namespace lockset::test
