// The SQL of a space: tables and stored procedures, from the files in statements/. In them, {space}
// stands for the tables' prefix, {now} for the server's clock, {next_version} for what follows the
// column config_version, {items} for the set of a request. {writable} is the condition that the
// server is the one that is written to, {keeps} that besides a crash loses nothing;
// {check_writable} and {check_keeps} are the statements that refuse where it is not so, before
// anything was done, {check_kept} the one behind a commit.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/mysql/address.h"

namespace lockset::mysql {

// The numbers of those refusals; of no error of the servers' own.
inline constexpr int not_durable = 45001;
inline constexpr int not_writable = 45002;
inline constexpr int not_kept = 45003;  // committed, perhaps by a server that is no longer the one

// Who may read a table or call a procedure, besides the account that made it. What says nothing is
// for the other procedures alone.
enum class Audience : std::uint8_t { nobody, everybody, operators };

struct NamedSql {
  std::string_view name;  // without the prefix: "_locks"
  std::string_view sql;
  Audience audience = Audience::nobody;
};

// In the order in which they are made.
std::span<const NamedSql> table_texts();

struct Procedure {
  std::string name;  // with the prefix
  std::string sql;
  Audience audience = Audience::nobody;
};

// All of a space, in the order in which they are made.
std::vector<Procedure> procedures_of(const std::string& space);

// The procedure of one strategy's acquire: "_acquire_rows". Of one name alone, it has the name +
// "_one".
std::string_view acquire_procedure_name(Strategy strategy);

// The text with its placeholders filled in. `space` must have been checked.
std::string filled_in(std::string_view text, const std::string& space);

}  // namespace lockset::mysql
