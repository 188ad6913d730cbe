// Files that are there whole or not at all.
#pragma once

#include <string>
#include <string_view>

namespace lockset::bench {

// Puts `content` into the file at `path`, by way of a file beside it that takes its place. Throws
// std::runtime_error, with one line, and leaves what was there before.
void write_file(const std::string& path, std::string_view content);

// Throws std::runtime_error, with one line.
std::string read_file(const std::string& path);

}  // namespace lockset::bench
