// Programs and operators as users of the server. Only an operator may write one key, the
// configuration: Redis has such rights from version 7 on.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "backends/redis/keys.h"
#include "backends/redis/rights.h"
#include "backends/redis/store.h"
#include "backends/server/socket_watchdog.h"

namespace lockset::redis {
namespace {

using Words = std::vector<std::string>;

constexpr std::string_view commands[] = {"+eval",
                                         "+evalsha",
                                         "+script|load",
                                         "+info",
                                         "+time",
                                         "+object|encoding",
                                         "+select",
                                         "+client|setname",
                                         "+subscribe",
                                         "+publish",
                                         "+exists",
                                         "+get",
                                         "+mget",
                                         "+set",
                                         "+setrange",
                                         "+del",
                                         "+pexpire",
                                         "+hget",
                                         "+hmget",
                                         "+hgetall",
                                         "+hkeys",
                                         "+hlen",
                                         "+hscan",
                                         "+hset",
                                         "+hdel",
                                         "+zscore",
                                         "+zcount",
                                         "+zrange",
                                         "+zrevrange",
                                         "+zrangebyscore",
                                         "+zrevrangebyscore",
                                         "+zadd",
                                         "+zrem"};

Words keys_of(Role role, const std::string& space) {
  const Keys keys(space);
  if (role == Role::operators) return {"~" + keys.main, "~" + keys.main + ":*"};
  Words words;
  for (const std::string& key :
       {keys.main, keys.leases, keys.waiters, keys.here, keys.epochs, keys.kept,
        keys.main + ":rights", keys.name("*"), keys.shared("*"), keys.line("*")}) {
    words.push_back("~" + key);
  }
  words.push_back("%R~" + keys.config);
  return words;
}

// Including patterns of older rules.
bool is_of_space(const std::string& pattern, const std::string& space) {
  if (pattern == "~" + Keys(space).main + "*") return true;
  return std::ranges::any_of(std::vector{Role::programs, Role::operators}, [&](Role role) {
    const Words all = keys_of(role, space);
    return std::ranges::find(all, pattern) != all.end();
  });
}

Status check_name(std::string_view user) {
  const bool good = !user.empty() && std::ranges::none_of(user, [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == '\x7f';
  });
  if (good) return {};
  return Error{Errc::invalid, in_quotes(user) +
                                  " can't be a user of Redis: a name has no blanks and no control "
                                  "characters"};
}

// Quoted as redis-cli reads a word.
std::string acl_word(std::string_view word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.@";
  if (word.find_first_not_of(plain) == std::string_view::npos) return std::string(word);
  std::string text = "\"";
  for (const char c : word) {
    constexpr std::string_view digits = "0123456789abcdef";
    if (plain.find(c) != std::string_view::npos) {
      text += c;
    } else {
      text += "\\x";
      text += digits[static_cast<unsigned char>(c) >> 4];
      text += digits[static_cast<unsigned char>(c) & 15];
    }
  }
  return text + "\"";
}

// The words of a text, separated by blanks (Redis 7), or the members of a list (Redis 6).
Words words_of(const Reply& reply) {
  Words words;
  for (std::size_t i = 0; i < reply.size(); ++i) words.emplace_back(reply[i].text());
  const std::string_view text = reply.text();
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) words.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

struct User {
  Words keys;
  Words channels;
};

class Giving {
 public:
  Giving(Connection& connection, const Options& options, std::string_view user, TimePoint by)
      : connection_(connection), options_(options), user_(user), by_(by) {}

  Status give(Role role) {
    const long version =
        std::strtol(info_field(connection_.info(), "redis_version").c_str(), nullptr, 10);
    if (version < (role == Role::programs ? 7 : 6)) {
      return wrong(role == Role::programs
                       ? "Redis before 7 has no right to read a key alone, which programs need: "
                         "there every user of the space is an operator (lockset init --operator)"
                       : "Redis before 6 has no users: everybody is an operator");
    }
    const Result<User> found = look();
    if (!found) return found.error();
    const auto has = [](const Words& words, const char* word) {
      return std::ranges::find(words, word) != words.end();
    };
    Words rule{"ACL", "SETUSER", user_};
    if (!has(found->keys, "~*")) {
      rule.emplace_back("resetkeys");
      for (const std::string& pattern : found->keys) {
        if (!is_of_space(pattern, options_.space)) rule.push_back(pattern);
      }
      for (std::string& pattern : keys_of(role, options_.space)) rule.push_back(std::move(pattern));
    } else if (role == Role::programs) {
      return wrong("user '" + user_ +
                   "' may change every key (~*), and so is an operator: take "
                   "that away first (ACL SETUSER " +
                   user_ + " resetkeys), or name another user");
    }
    if (!has(found->channels, "&*")) rule.push_back("&" + Keys(options_.space).channel("*"));
    for (const std::string_view command : commands) rule.emplace_back(command);
    if (Result<Reply> set = ask(rule); !set) return set.error();
    if (role == Role::programs) {
      const Result<Reply> allowed =
          ask({"ACL", "DRYRUN", user_, "HSET", Keys(options_.space).config, "x", "y"});
      if (!allowed) return allowed.error();
      if (allowed->text() == "OK") {
        return wrong("user '" + user_ + "' may still change " + Keys(options_.space).config +
                     " by another pattern or selector: see ACL GETUSER " + user_);
      }
    }
    return save();
  }

 private:
  Error wrong(const std::string& why) const {
    return Error{Errc::misconfigured, options_.shown() + ": " + why};
  }

  Result<Reply> ask(const Words& words) {
    Result<Reply> reply = connection_.call(Command(words.begin(), words.end()), Sent::reading, by_);
    if (!reply || !reply->is_error()) return reply;
    const std::string_view said = reply->text();
    if (said.starts_with("NOPERM")) {
      return wrong(
          "this user may not give rights: that takes ACL; run lockset init as the "
          "server's administrator");
    }
    return refused(said, options_.shown(), Sent::reading);
  }

  Result<User> look() {
    const Result<Reply> reply = ask({"ACL", "GETUSER", user_});
    if (!reply) return reply.error();
    if (reply->is_nil()) {
      return wrong("there is no user '" + user_ +
                   "': make it first, with its password (ACL SETUSER " + user_ + " on ...)");
    }
    User user;
    for (std::size_t i = 0; i + 1 < reply->size(); i += 2) {
      if ((*reply)[i].text() == "keys") user.keys = words_of((*reply)[i + 1]);
      if ((*reply)[i].text() == "channels") user.channels = words_of((*reply)[i + 1]);
    }
    // Redis 6 leaves out the signs.
    for (std::string& one : user.keys) {
      if (!one.starts_with('~') && !one.starts_with('%')) one.insert(0, "~");
    }
    for (std::string& one : user.channels) {
      if (!one.starts_with('&')) one.insert(0, "&");
    }
    return user;
  }

  // Saves the users if the server has a file for them. If not, a person writes them to its
  // configuration.
  Status save() {
    const Result<Reply> saved = connection_.call({"ACL", "SAVE"}, Sent::reading, by_);
    if (!saved) return saved.error();
    if (!saved->is_error() || saved->text().find("ACL file") != std::string_view::npos) return {};
    return wrong("user '" + user_ +
                 "' has the role, but the server could not save its ACL file, "
                 "and forgets it when it restarts (" +
                 std::string(saved->text()) + ")");
  }

  Connection& connection_;
  const Options& options_;
  const std::string user_;
  const TimePoint by_;
};

}  // namespace

Result<std::string> rights_script(const Options& options, Role role, std::string_view user) {
  if (Status good = check_name(user); !good) return good.error();
  std::string text = "ACL SETUSER " + acl_word(user);
  // Takes away all earlier keys: otherwise an operator would stay one.
  if (role == Role::programs) text += " resetkeys";
  for (const std::string& pattern : keys_of(role, options.space)) text += " " + pattern;
  text += " &" + Keys(options.space).channel("*");
  for (const std::string_view command : commands) text += " " + std::string(command);
  return text + "\n";
}

Status allow(const Options& options, Role role, std::string_view user, TimePoint by) {
  if (Status good = check_name(user); !good) return good;
  server::SocketWatchdog watchdog;
  const Result<std::unique_ptr<Connection>> connection = connect_safely(options, watchdog, by);
  if (!connection) return connection.error();
  return Giving(**connection, options, user, by).give(role);
}

}  // namespace lockset::redis
