#include "backends/memcached/errors.h"

#include <system_error>

namespace lockset::memcached {
namespace {

// The library's own message has addresses in memory and lines of its sources in it.
std::string quote(memcached_st* client, memcached_return_t code) {
  std::string text = code == MEMCACHED_TIMEOUT ? "no answer in time"
                                               : one_line(::memcached_strerror(client, code));
  const int number = ::memcached_last_error_errno(client);
  if (number != 0 && code != MEMCACHED_TIMEOUT) {
    text += ": " + std::system_category().message(number);
  }
  return " (" + text + ")";
}

}  // namespace

bool is_refusal(memcached_return_t code) noexcept {
  return code == MEMCACHED_E2BIG || code == MEMCACHED_SERVER_MEMORY_ALLOCATION_FAILURE;
}

Error failed(memcached_st* client, memcached_return_t code, Sent sent, const std::string& where) {
  switch (code) {
    case MEMCACHED_E2BIG:
      return {Errc::unavailable,
              where +
                  ": the space has become too large for an item of this server; nothing was "
                  "applied: start it with a greater -I"};
    case MEMCACHED_SERVER_MEMORY_ALLOCATION_FAILURE:
      return {Errc::unavailable,
              where +
                  ": the server has no memory left for the space; nothing was applied: give "
                  "it more (-m), and no other data"};
    case MEMCACHED_HOST_LOOKUP_FAILURE:
      return {Errc::unavailable, where + ": the host has no address: check its name"};
    case MEMCACHED_AUTH_PROBLEM:
    case MEMCACHED_AUTH_FAILURE:
    case MEMCACHED_AUTH_CONTINUE:
      return {Errc::misconfigured,
              where +
                  ": the server wants a user and a password (SASL), which Lockset does not "
                  "support: start it without -S and -Y"};
    case MEMCACHED_ERROR:
    case MEMCACHED_CLIENT_ERROR:
    case MEMCACHED_SERVER_ERROR:
    case MEMCACHED_PROTOCOL_ERROR:
    case MEMCACHED_UNKNOWN_READ_FAILURE:
      return unknown_answer(sent, where, quote(client, code));
    // Also "connection failure": the library says that of a connection that was reset while it
    // waited for the answer.
    default:
      return no_answer(sent, where, quote(client, code));
  }
}

}  // namespace lockset::memcached
