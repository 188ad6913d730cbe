// Access to the internals of the space of a sqlite: address.
#pragma once

#include <cstdint>

#include "lockset/url.h"

namespace lockset::bench {

// Store::fill.
void fill_sqlite(const Url& url, std::uint64_t count);

// In bytes. Makes the space if it is missing.
std::int64_t sqlite_page_size(const Url& url);

}  // namespace lockset::bench
