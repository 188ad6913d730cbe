// What a sqlite: address means.
#pragma once

#include <string>

#include "lockset/error.h"
#include "lockset/url.h"

namespace lockset::sqlite {

struct Options {
  std::string path;           // absolute
  bool default_path = false;  // nobody named it: its directories may be made
  bool synchronous_full = true;
};

// Errc::invalid for an address that can't be meant.
Result<Options> parse_address(const Url& url);

}  // namespace lockset::sqlite
