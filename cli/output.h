// Standard output.
#pragma once

#include <string_view>

namespace lockset::cli {

// Writes and flushes, so that a reader who follows the file sees each line at once.
void print(std::string_view text);

}  // namespace lockset::cli
