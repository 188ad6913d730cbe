#include "backends/findings.h"

#include <utility>

namespace lockset::findings {

Finding good(std::string subject, std::string text) {
  return {Level::good, std::move(subject), std::move(text)};
}

Finding warning(std::string subject, std::string text) {
  return {Level::warning, std::move(subject), std::move(text)};
}

Finding unsafe(std::string subject, std::string text) {
  return {Level::unsafe, std::move(subject), std::move(text)};
}

Finding no_space(Level level, std::string text) { return {level, "space", std::move(text), true}; }

Finding good_if(bool fit, Level otherwise, std::string subject, std::string as_it_is,
                std::string trouble) {
  if (fit) return good(std::move(subject), std::move(as_it_is));
  return {otherwise, std::move(subject), std::move(trouble)};
}

Finding unreadable(Level level, std::string subject, const std::string& why) {
  return {level, std::move(subject), "could not be read: " + why};
}

Finding encryption(bool local, bool verified, std::string trouble) {
  return good_if(local || verified, Level::warning, "encryption",
                 local ? "a Unix socket" : "TLS, the server's certificate is verified",
                 std::move(trouble));
}

Finding room(std::string setting, long used, long most, long wanted, const std::string& note) {
  const std::string count = std::to_string(used) + " of " + std::to_string(most) + " in use";
  const std::string remedy = ": raise " + setting + ", or lower the parameter pool";
  return good_if(used + wanted <= most, Level::warning, std::move(setting),
                 count + (note.empty() ? "" : "; " + note),
                 count + ", and a client may open " + std::to_string(wanted) +
                     (note.empty() ? "" : " (" + note + ")") + remedy);
}

Finding rights(const std::string& user, Role role) {
  return good("rights",
              user + (role == Role::programs
                          ? " is a program: it may not change permits or break holds"
                          : " is an operator: it may also change permits and break holds; "
                            "programs need less (lockset init --program)"));
}

Finding owner(const std::string& user, std::string_view advice) {
  return good("rights",
              user + " is the owner of the space, and may do everything" + std::string(advice));
}

}  // namespace lockset::findings
