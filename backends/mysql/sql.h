// The SQL of a space: tables and stored procedures, from the files in statements/. There {space} is
// the tables' prefix, {now} the server's clock, {next_version} the value that follows the column
// config_version, {items} the set of a request, {judged} the same with who holds each name and for
// which waiters it is kept ({kept}). {writable} is the condition that the server is the
// writable one, {keeps} that a crash also loses nothing; {check_writable} and {check_keeps} are the
// statements that refuse otherwise, before anything is done, and {check_kept} is the one after a
// commit.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/mysql/address.h"

namespace lockset::mysql {

// The numbers of these refusals; the servers use them for no error of their own.
inline constexpr int not_durable = 45001;
inline constexpr int not_writable = 45002;
inline constexpr int not_kept = 45003;  // committed, perhaps by a server that is no longer the
                                        // writable one

// With strategy=session: a counter of the server that only goes up while it runs, and how far
// stamps may be above the floor that is on the disk.
inline constexpr std::string_view session_counter = "(UUID_SHORT() & 72057594037927935)";
inline constexpr std::int64_t stamp_window = 65'536;

// Who may read a table or call a procedure, besides the account that made it. The default is only
// for other procedures.
enum class Audience : std::uint8_t { nobody, everybody, operators };

struct NamedSql {
  std::string_view name;  // without the prefix: "_locks"
  std::string_view sql;
  Audience audience = Audience::nobody;
};

// In the order in which they are made. A space with strategy=session has others than the rest.
std::span<const NamedSql> table_texts(Strategy strategy);

struct Procedure {
  std::string name;  // with the prefix
  std::string sql;
  Audience audience = Audience::nobody;
};

// All procedures of a space, in the order in which they are made.
std::vector<Procedure> procedures_of(const std::string& space, Strategy strategy);

// One that nobody may call but the space's owner, and that does no harm with the arguments (0).
std::string_view procedure_of_nobody(Strategy strategy);

// The procedure of a strategy's acquire: "_acquire_rows". The one for a single name has the name +
// "_one".
std::string_view acquire_procedure_name(Strategy strategy);
// The procedure that converts a hold: an acquire that takes its place.
std::string_view convert_procedure_name(Strategy strategy);

// The text with its placeholders filled in. REQUIRES: `space` has been checked.
std::string filled_in(std::string_view text, const std::string& space);

}  // namespace lockset::mysql
