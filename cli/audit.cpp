#include "cli/audit.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/calendar.h"
#include "cli/chat.h"
#include "cli/who.h"
#include "lockset/url.h"
#include "tools/table.h"

namespace lockset::cli {

using namespace tools;

void audit(const Settings& settings, const Status& outcome, std::string_view action,
           std::string_view what) {
  if (!outcome && !outcome.error().may_have_applied()) return;
  const std::string when = utc_time(std::chrono::system_clock::now());
  const std::string user = user_name();
  const std::string host = host_name();
  const std::string space = redact_url(settings.text(Opt::url));
  const std::string& label = settings.text(Opt::label);
  // Anybody may set it, as anybody may call our programs by another user's name: a hint.
  const char* const sudo_user = std::getenv("SUDO_USER");

  std::string line = "audit: " + when + ": " + user + "@" + host + ":" + std::to_string(::getpid());
  if (sudo_user != nullptr) line += " (sudo by " + harmless(sudo_user) + ")";
  if (!label.empty()) line += " (" + harmless(label) + ")";
  line += " in " + space + ": " + std::string(action) + ": " + harmless(what);
  if (!outcome) line += " (no answer: it may have been done or not)";

  nlohmann::ordered_json fields{{"action", action}, {"what", what}, {"certain", outcome.ok()},
                                {"space", space},   {"user", user}, {"host", host}};
  if (sudo_user != nullptr) fields["sudo_user"] = sudo_user;
  if (!label.empty()) fields["label"] = label;
  say_deed(line, fields);
}

}  // namespace lockset::cli
