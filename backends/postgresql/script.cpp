#include "backends/postgresql/script.h"

#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#include "backends/postgresql/sql.h"
#include "lockset/registry.h"

namespace lockset::postgresql {
namespace {

// FNV-1a.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const char c : text) {
    hash ^= static_cast<std::uint8_t>(c);
    hash *= 0x100000001B3;
  }
  return hash;
}

// Advisory locks are the whole database's: a class of its own for each space and use. A
// class that somebody else happens to use costs waiting, no more.
std::string lock_class(const std::string& space, std::string_view use) {
  const std::uint64_t hash = hash_of("lockset/" + space + "/" + std::string(use));
  return std::to_string(static_cast<std::int32_t>(hash ^ (hash >> 32)));
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

// Alternatives of a regular expression, without the version. Every version's are among them.
constexpr std::string_view functions_of_programs =
    "acquire|know|resolve|renew|release|end_wait|inspect|load_config|reclaim|sweep";
constexpr std::string_view functions_of_operators = "break|change_config|change_config_at";

// For an answer that rests on a commit of before, whose wait for a synchronous standby may have
// been broken off: a record in the log makes this commit wait too, and what the standby has it has
// in the order of the log. (A transaction's number alone makes none wait: seen with 15.18.)
constexpr std::string_view be_sure = "PERFORM pg_logical_emit_message(true, 'lockset', '');";

// How a function's statements are planned, whatever the session says: by index and once for all,
// for the plans of the first minutes, made for small tables, serve large ones as well. Never
// compiled: the cost of a plan that may read no table in order says nothing about the time it
// takes.
constexpr std::string_view plans =
    "SET jit = off SET plan_cache_mode = force_generic_plan SET enable_seqscan = off";
// The settings of functions that read all holds.
constexpr std::string_view plans_of_all =
    "SET jit = off SET plan_cache_mode = force_generic_plan SET enable_seqscan = on";

// What only strategy=serializable has: the rows of the names are kept in step. A release
// locks them before the hold's rows, as an acquire does.
constexpr std::string_view free_names = R"(SELECT h.name, h.size, h.alone INTO _name, _size, _alone
    FROM "@space@".locks h
   WHERE h.stamp = _stamp AND h.expires IS NOT NULL@whose@;
  -- If it was the only hold on its names, and none was granted since, they are free now.
  IF _alone AND _size = 1 THEN
    UPDATE "@space@".names n SET last = -_stamp WHERE n.name = _name AND n.last = _stamp;
  ELSIF _alone THEN
    FOR _name IN SELECT l.name FROM "@space@".locks l WHERE l.stamp = _stamp ORDER BY l.name LOOP
      UPDATE "@space@".names n SET last = -_stamp WHERE n.name = _name AND n.last = _stamp;
    END LOOP;
  END IF;)";
constexpr std::string_view mark_names =
    R"(UPDATE "@space@".names n SET last = _stamp
       WHERE n.name = ANY(_names) AND n.last <> _stamp;)";
constexpr std::string_view unmark_names =
    R"(UPDATE "@space@".names n SET last = -_stamp
     WHERE n.name = ANY(_names) AND n.last = _stamp;)";
// A row that is deleted makes every acquire fail whose state is older, and then it finds
// the name unknown or made anew: nothing that is reused can be taken for the old one.
constexpr std::string_view sweep_names =
    R"(SELECT array_agg(s.name) FILTER (WHERE abs(s.last) < _old),
         count(*), max(s.name)
    INTO _names, _looked, _next_name
    FROM (SELECT n.name, n.last FROM "@space@".names n WHERE n.name > _from_name
           ORDER BY n.name LIMIT 5000) s;
  IF _looked < 5000 THEN
    _next_name := '';
  END IF;
  _unused := '{}';
  FOR _name IN SELECT n.name FROM "@space@".names n
                WHERE n.name = ANY(_names) AND abs(n.last) < _old
                ORDER BY n.name LIMIT 1000 FOR UPDATE SKIP LOCKED
  LOOP
    _unused := _unused || _name;
  END LOOP;
  -- Behind the rows' locks, so that no grant is missed.
  DELETE FROM "@space@".names n
   WHERE n.name = ANY(_unused)
     AND NOT EXISTS (SELECT FROM "@space@".locks l WHERE l.name = n.name);)";

// The function that ends a hold, for those who may end their application's and for those who may
// end any: two, so that each can be granted by itself, and NULL is nobody's application.
std::string release_for(Role role, Strategy strategy) {
  const bool any = role == Role::operators;
  std::string text(sql::release);
  replace_all(text, "@free@",
              strategy == Strategy::serializable ? std::string(free_names) : "-- (nothing)");
  replace_all(
      text, "@release_says@",
      any ? "An operator ends a hold, whosever it is." : "A hold's own application ends it.");
  replace_all(
      text, "@release@",
      any ? "break_v@version@(_stamp bigint)" : "release_v@version@(_stamp bigint, _app text)");
  replace_all(text, "@whose@", any ? "" : " AND h.app = _app");
  return text;
}

std::string filled(std::string text, const std::string& space, Strategy strategy) {
  const bool serializable = strategy == Strategy::serializable;
  const auto only_serializable = [&](std::string_view part) {
    return serializable ? std::string(part) : std::string("-- (nothing)");
  };
  const std::vector<std::pair<std::string, std::string>> values{
      {"@look@", std::string(sql::look)},
      {"@tables@", "meta|lock_permits|epochs|locks|waiters|waiter_names|names"},
      {"@sequences@", "stamps|config_version|last_wait"},
      {"@functions@", std::string(functions_of_programs) + "|" +
                          std::string(functions_of_operators) +
                          "|raise_stamp|record|settle|wake|wake_all|leave_line|sweep_line|"
                          "config_rows|next_version"},
      {"@programs@", std::string(functions_of_programs)},
      {"@operators@", std::string(functions_of_operators)},
      {"@sure@", std::string(be_sure)},
      {"@plans@", std::string(plans)},
      {"@plans_of_all@", std::string(plans_of_all)},
      {"@mark@", only_serializable(mark_names)},
      {"@unmark@", only_serializable(unmark_names)},
      {"@sweep_names@", only_serializable(sweep_names)},
      {"@space@", space},
      {"@strategy@", std::string(to_string(strategy))},
      {"@version@", std::to_string(schema_version)},
      {"@class@", lock_class(space, "space")},
      {"@names@", lock_class(space, "names")},
      {"@slack@", std::to_string(stamp_slack_us)},
      {"@most_names@", std::to_string(most_name_locks)},
      // Waiters poll every 6 s at most, so one that lives refreshes its row in time.
      {"@life@", "15 seconds"},
      // A little more than that: last_wait may go back by a moment.
      {"@life_us@", "20000000"},
      {"@half_life@", "8 seconds"},
      {"@comes_within@", "100 milliseconds"},
  };
  for (const auto& [name, value] : values) replace_all(text, name, value);
  return text;
}

std::string body(const std::string& space, Strategy strategy) {
  const bool serializable = strategy == Strategy::serializable;
  std::string text;
  for (const std::string_view part :
       {sql::guard, sql::tables, sql::settle,
        serializable ? sql::acquire_serializable : sql::acquire_advisory}) {
    text += part;
  }
  text += release_for(Role::programs, strategy) + release_for(Role::operators, strategy);
  for (const std::string_view part : {sql::holds, sql::waiters, sql::config, sql::seal}) {
    text += part;
  }
  return filled(std::move(text), space, strategy);
}

}  // namespace

std::string_view to_string(Strategy strategy) noexcept {
  return strategy == Strategy::advisory ? "advisory" : "serializable";
}

std::string script_digest(const std::string& space, Strategy strategy) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx",
                static_cast<unsigned long long>(hash_of(body(space, strategy))));
  return digits;
}

std::string grant_script(const std::string& space, Role role, const std::string& account) {
  std::string identifier;
  std::string literal;
  for (const char c : account) {
    identifier += c == '"' ? std::string("\"\"") : std::string(1, c);
    literal += c == '\'' || c == '\\' ? std::string(2, c) : std::string(1, c);
  }
  std::string text(sql::rights);
  replace_all(text, "@give@", role == Role::operators ? "GRANT" : "REVOKE");
  replace_all(text, "@to@", role == Role::operators ? "TO" : "FROM");
  replace_all(text, "@operator@", role == Role::operators ? "true" : "false");
  text = filled(std::move(text), space, Strategy::advisory);
  // Last, for an account may be called anything.
  const std::string account_there = "@account@", literal_there = "@literal@";
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    if (text.compare(at, account_there.size(), account_there) == 0) {
      result += identifier;
      at += account_there.size();
    } else if (text.compare(at, literal_there.size(), literal_there) == 0) {
      result += literal;
      at += literal_there.size();
    } else {
      result += text[at++];
    }
  }
  return result;
}

std::string check_script(const std::string& space) {
  // The same with either strategy.
  return filled(std::string(sql::guard) + std::string(sql::seal), space, Strategy::advisory);
}

std::string install_script(const std::string& space, Strategy strategy) {
  // An older space is of this version now; a newer one has been refused above.
  return body(space, strategy) + "\nUPDATE \"" + space +
         "\".meta SET schema_version = " + std::to_string(schema_version) + ", script = '" +
         script_digest(space, strategy) + "';\n";
}

}  // namespace lockset::postgresql
