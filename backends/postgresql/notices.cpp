#include "backends/postgresql/notices.h"

#include <string_view>

namespace lockset::postgresql {
namespace {

std::string_view field(const PGresult* notice, int code) {
  const char* const text = PQresultErrorField(notice, code);
  return text != nullptr ? text : std::string_view();
}

// The message is in the server's language. Its code is that of any warning (01000; 57P01 if the
// server ends the session), and other warnings have it too, such as one that the database needs a
// VACUUM. So the function of the server that sent it decides. If a server doesn't tell the
// function, the worst is assumed.
bool means_local_only(const PGresult* notice) {
  // Since PostgreSQL 9.6 this field is not translated.
  if (field(notice, PG_DIAG_SEVERITY_NONLOCALIZED) != "WARNING") return false;
  const std::string_view code = field(notice, PG_DIAG_SQLSTATE);
  if (code != "01000" && code != "57P01") return false;
  const std::string_view by = field(notice, PG_DIAG_SOURCE_FUNCTION);
  return by.empty() || by.starts_with("SyncRep");
}

}  // namespace

void Notices::hear(void* self, const PGresult* notice) {
  auto* const mine = static_cast<Notices*>(self);
  mine->local_only_ = mine->local_only_ || means_local_only(notice);
}

}  // namespace lockset::postgresql
