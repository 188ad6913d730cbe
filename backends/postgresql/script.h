// The schema of a space: its script, and what a program has to know about it. `lockset init` runs
// the script, and `lockset init --print` prints it. Functions inside the database (statements/)
// keep the rules, so that one round trip does a whole step. docs/backends/postgresql.md explains
// them; docs/adr/0010 to 0013 say why they are so. Where a function differs between the strategies,
// its statement has a placeholder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lockset/registry.h"

namespace lockset::postgresql {

enum class Strategy { advisory, serializable, session };

// What it means that a standby has taken over: its last grants may be missing, or it has all.
enum class FailoverMeans { quarantine, synchronous };

// As in an address.
std::string_view to_string(FailoverMeans failover) noexcept;

// As in an address: "advisory".
std::string_view to_string(Strategy strategy) noexcept;
// Unset: a strategy that this program does not know.
std::optional<Strategy> strategy_from(std::string_view name) noexcept;

// strategy=session: the advisory lock of a name. Other programs may rely on it; it never changes.
std::int64_t session_key(std::string_view space, std::string_view name);
// strategy=session: the key of the line (session_line.h). No name is empty, so no name has it.
inline std::int64_t session_line_key(std::string_view space) { return session_key(space, ""); }
// strategy=session: where the space's clients listen.
std::string session_channel(std::string_view space);

// The version of the tables and functions. It is part of the functions' names, so a program never
// calls a function of another version, even if an upgrade runs meanwhile. Version 2 added rights of
// programs and operators, by function. Its tables are those of version 1.
inline constexpr int schema_version = 2;

// A stamp lags behind the server's clock by at most this much, in microseconds.
inline constexpr int stamp_slack_us = 50'000;

// Larger sets lock the whole space for the moment of the grant.
inline constexpr int most_name_locks = 64;

// Makes the space, or upgrades it: statements for one transaction, without its BEGIN and COMMIT.
// Harmless if there is nothing to do. REQUIRES: `space` has been checked.
std::string install_script(const std::string& space, Strategy strategy);

// Says what a failover means: a statement for the same transaction, behind install_script().
std::string failover_script(const std::string& space, FailoverMeans failover);

// Gives an account its role: statements for one transaction, without its BEGIN and COMMIT.
// REQUIRES: `account` has been checked.
std::string grant_script(const std::string& space, Role role, const std::string& account);

// Only the part of install_script() about rights and foreign objects in the schema: for a space
// that is up to date.
std::string check_script(const std::string& space);

// A digest of install_script(), which the space stores.
std::string script_digest(const std::string& space, Strategy strategy);

}  // namespace lockset::postgresql
