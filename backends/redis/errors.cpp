#include "backends/redis/errors.h"

#include <algorithm>
#include <array>
#include <utility>

namespace lockset::redis {
namespace {

struct Known {
  std::string_view word;  // the beginning of the reply, or the word that a script reports
  Errc code;
  std::string_view text;
};

constexpr std::array known{
    Known{"NOAUTH", Errc::misconfigured,
          "the server wants a password: give it in the address, in password_file or in "
          "REDISCLI_AUTH"},
    Known{"WRONGPASS", Errc::misconfigured,
          "the server refuses this user or password: check both, and that the user is on"},
    Known{"ERR invalid password", Errc::misconfigured,
          "the server refuses this password: check it"},
    Known{"ERR AUTH", Errc::misconfigured,
          "the server has no such password or user: check both; users need Redis 6"},
    Known{"ERR Client sent AUTH", Errc::misconfigured,
          "the server wants no password: leave it out of the address"},
    Known{"ERR wrong number of arguments for 'auth'", Errc::misconfigured,
          "the server knows no users (Redis 6 does): leave the user out of the address"},
    Known{"ERR DB index", Errc::misconfigured,
          "there is no such database: check the number behind the host"},
    Known{"ERR SELECT is not allowed", Errc::misconfigured,
          "a cluster has database 0 only: check the number behind the host"},
    Known{"NOPERM", Errc::misconfigured,
          "this user lacks a right: see the ACL rule in docs/backends/redis.md"},
    // Redis 7.0 within a script; it does not say which command.
    Known{"ERR The user executing the script", Errc::misconfigured,
          "this user lacks a right: see the ACL rule in docs/backends/redis.md"},
    Known{"ERR ACL failure in script", Errc::misconfigured,
          "this user lacks a right: see the ACL rule in docs/backends/redis.md"},
    Known{"READONLY", Errc::misconfigured,
          "the server is a read-only replica: name the primary in the address"},
    Known{"MOVED", Errc::misconfigured,
          "this cluster node does not serve the lock space: write redis+cluster:// with all nodes"},
    Known{"ASK", Errc::unavailable, "the lock space is moving between cluster nodes"},
    Known{"TRYAGAIN", Errc::unavailable, "the lock space is moving between cluster nodes"},
    Known{"CLUSTERDOWN", Errc::unavailable, "the cluster is down"},
    Known{"LOADING", Errc::unavailable, "the server is loading its data"},
    Known{"BUSY", Errc::unavailable, "the server is busy with a long script; nothing was applied"},
    Known{"OOM", Errc::unavailable,
          "the server has no memory left (maxmemory); nothing was applied: give it more"},
    Known{"MISCONF", Errc::unavailable,
          "the server can't write to its disk and refuses changes; nothing was applied: see its "
          "log"},
    Known{"NOREPLICAS", Errc::unavailable,
          "fewer replicas than min-replicas-to-write keep up; nothing was applied"},
    Known{"MASTERDOWN", Errc::misconfigured,
          "the server is a replica that has lost its primary: name the primary in the address"},
    Known{"WRONGTYPE", Errc::misconfigured,
          "a key of the lock space holds something foreign: name another space, or remove it"},
    Known{"ERR max number of clients", Errc::unavailable,
          "the server takes no further connection now: raise maxclients, or lower the parameter "
          "pool"},
    Known{"DENIED", Errc::misconfigured,
          "the server is in protected mode and lets nobody in from other hosts: give it a "
          "password or a bind address"},
    Known{"ERR unknown command", Errc::misconfigured,
          "the server lacks a command that Lockset needs, or it was renamed; Redis 5 is the "
          "oldest that will do"},
};

// A server that was the primary before answers with one of these: a failover is under way.
constexpr std::array serves_no_more{std::string_view("READONLY"), std::string_view("MASTERDOWN"),
                                    std::string_view("MOVED")};

// "-ERR Error running script ...: @user_script:12: -OOM command ..." of servers before 7.
bool tells(std::string_view said, std::string_view word) {
  if (said.starts_with(word)) return true;
  const std::size_t script = said.find("@user_script");
  return script != std::string_view::npos &&
         said.find(": -" + std::string(word), script) != std::string_view::npos;
}

// The place in the script does not help a user.
std::string in_brackets(std::string_view said) {
  return " (" + one_line(said.substr(0, said.find(" script:"))) + ")";
}

}  // namespace

bool asks_for_another_server(std::string_view said) noexcept {
  constexpr std::array of_the_request{"OOM", "BUSY", "NOPERM", "WRONGTYPE"};
  return std::none_of(of_the_request.begin(), of_the_request.end(),
                      [&](std::string_view word) { return tells(said, word); });
}

bool is_noscript(std::string_view said) noexcept { return said.starts_with("NOSCRIPT"); }

Error refused(std::string_view said, const std::string& where, Sent sent, Errc no_primary) {
  for (const Known& one : known) {
    if (tells(said, one.word)) {
      const bool moved =
          std::find(serves_no_more.begin(), serves_no_more.end(), one.word) != serves_no_more.end();
      return Error{moved ? no_primary : one.code,
                   where + ": " + std::string(one.text) + in_brackets(said)};
    }
  }
  return unknown_answer(sent, where, in_brackets(said));
}

}  // namespace lockset::redis
