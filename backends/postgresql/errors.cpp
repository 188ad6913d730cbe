#include "backends/postgresql/errors.h"

namespace lockset::postgresql {
namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The call was certainly rolled back, or never begun.
struct Refusal {
  Errc code;
  std::string_view what;
};

// By the class or by the whole code; {} if the outcome is open.
Refusal refusal_of(std::string_view state) {
  const std::string_view kind = state.substr(0, 2);
  if (kind == "28") {
    return {
        Errc::misconfigured,
        "the server refused the login: check the user, the password (password-file, PGPASSWORD, "
        "~/.pgpass or the address) and the server's pg_hba.conf"};
  }
  if (state == "3D000") return {Errc::misconfigured, "there is no such database: create it"};
  if (state == "42501") {
    return {Errc::misconfigured,
            "permission denied: lockset init needs CREATE on the database, and to be run by the "
            "schema's owner later"};
  }
  if (state == "3F000" || state == "42883" || state == "42P01") {
    return {Errc::misconfigured,
            "the space is not there, or was made by another version of Lockset: run lockset init"};
  }
  if (state == "26000" || state == "42P05") {
    return {Errc::misconfigured,
            "prepared statements get lost, so a pooler stands between: add pooler=on to the "
            "address"};
  }
  if (state == sqlstate_read_only) {
    return {Errc::misconfigured,
            "the server is read-only (a standby, or default_transaction_read_only): name the "
            "primary"};
  }
  if (state == "42704") {
    return {Errc::misconfigured, "there is no such user: make it first (CREATE ROLE)"};
  }
  if (kind == "2B") {
    return {Errc::misconfigured,
            "something else depends on what had to be taken away; nothing was applied: drop it"};
  }
  if (state == "LS004") return {Errc::misconfigured, "nothing was changed"};
  if (state == "LS001") return {Errc::misconfigured, "the space can't be used"};
  if (state == "LS002") {
    return {Errc::misconfigured,
            "the session's isolation level is not the one that Lockset set: if a pooler stands "
            "between, add pooler=on to the address"};
  }
  if (state == "53300") {
    return {Errc::unavailable,
            "the server takes no more connections: raise its max_connections (or the role's "
            "limit), or lower pool= in the address"};
  }
  if (state == "53100")
    return {Errc::unavailable, "the server's disk is full; nothing was applied"};
  if (state == "53200") {
    return {Errc::unavailable,
            "the server is out of memory or of room for locks (max_locks_per_transaction); "
            "nothing was applied"};
  }
  if (kind == "53" || kind == "54") {
    return {Errc::unavailable, "the server is out of something; nothing was applied"};
  }
  if (state == "40001" || state == "40P01" || state == "55P03" || state == "57014") {
    return {Errc::unavailable,
            "another transaction stayed in the way until the deadline; nothing was applied: is a "
            "session left idle in a transaction?"};
  }
  if (state == "57P03") return {Errc::unavailable, "the server is starting up or shutting down"};
  if (state == "2200H") return {Errc::internal, "there are no stamps left above this minimum"};
  if (kind == "22" || kind == "23" || kind == "42" || kind == "LS") {
    return {Errc::internal, "the server refused a statement of Lockset's; nothing was applied"};
  }
  return {Errc::internal, {}};
}

bool about_certificates(std::string_view said) {
  return contains(said, "certificate") || contains(said, "does not support SSL") ||
         contains(said, "private key file") || contains(said, "sslmode");
}

}  // namespace

bool worth_repeating(std::string_view state) noexcept {
  return state == "40001" || state == "40P01" || state == "55P03";
}

Error is_incomplete(const std::string& shown) {
  return {Errc::unavailable, "PostgreSQL (" + shown +
                                 "): the space has no configuration: it is being put back from a "
                                 "backup, or was put back without its rows"};
}

Error error_from(std::string_view sqlstate, std::string_view said, const std::string& where,
                 Sent sent) {
  const std::string name = "PostgreSQL (" + where + ")";
  // The rest after the first line of a server's message points into one of our statements.
  if (!sqlstate.empty() && sent != Sent::nothing) said = said.substr(0, said.find('\n'));
  if (const std::size_t line = said.find("\nLINE "); line != std::string_view::npos) {
    said = said.substr(0, line);
  }
  const std::string quoted =
      " [" + one_line(said) + (sqlstate.empty() ? "" : ", SQLSTATE " + std::string(sqlstate)) + "]";
  const Refusal refusal = sqlstate.empty() ? Refusal{Errc::internal, {}} : refusal_of(sqlstate);
  if (!refusal.what.empty())
    return {refusal.code, name + ": " + std::string(refusal.what) + quoted};
  if (sent == Sent::nothing && about_certificates(said)) {
    return {Errc::misconfigured, name +
                                     ": no TLS connection of the wanted kind: check sslmode, "
                                     "sslrootcert and the server's certificate" +
                                     quoted};
  }
  return no_answer(sent, name, quoted);
}

}  // namespace lockset::postgresql
