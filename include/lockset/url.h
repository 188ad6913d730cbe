// The address of a lock space: scheme:[//[user[:password]@]hosts][path][?key=value&...]
//
// Thread-safety: plain values.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lockset/error.h"
#include "lockset/export.h"

namespace lockset LOCKSET_EXPORT {

struct Url {
  std::string text;    // as given, secrets included: for client libraries that parse it themselves
  std::string scheme;  // lower case
  bool has_authority = false;
  std::string user;      // decoded
  std::string password;  // decoded
  std::string hosts;     // as given: "host:port,host:port"
  std::string path;      // decoded; without the scheme's colon, with its leading slash if any
  std::map<std::string, std::string> params;  // decoded
  // Decoded, in the order given: "of" of the scheme "quorum", which is given several times. It is
  // none of the params.
  std::vector<std::string> nodes;

  // Errc::invalid, with the faulty part, for a text without a scheme, a bad percent code or a
  // parameter given twice. No message shows a password.
  static Result<Url> parse(std::string_view text);

  // The address as it may be shown: *** in place of a password, wherever it is (the user part, or a
  // parameter whose name contains password, secret or token).
  [[nodiscard]] std::string redacted() const;
};

// Url::redacted for a text that may not be a valid address.
std::string redact_url(std::string_view text);

}  // namespace LOCKSET_EXPORT
