// Standard output.
#pragma once

#include <string_view>

namespace lockset::cli {

// Writes and flushes, so that somebody who follows a file sees each line when it happens.
void print(std::string_view text);

}  // namespace lockset::cli
