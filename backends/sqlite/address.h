// Parses a sqlite: address.
#pragma once

#include <string>

#include "lockset/error.h"
#include "lockset/url.h"

namespace lockset::sqlite {

struct Options {
  std::string path;           // absolute
  bool default_path = false;  // the address names no path: missing directories may be made
  // Each commit is on the disk before it is answered, not only those that have to survive a power
  // cut (Transaction::must_survive).
  bool sync_all = false;
};

// Errc::invalid for a malformed address.
Result<Options> parse_address(const Url& url);

}  // namespace lockset::sqlite
