// Files that are complete or do not exist.
#pragma once

#include <string>
#include <string_view>

namespace lockset::bench {

// Writes `content` to the file at `path`: writes another file next to it, which then replaces it.
// Throws std::runtime_error, with one line, and keeps the previous file.
void write_file(const std::string& path, std::string_view content);

// Throws std::runtime_error, with one line.
std::string read_file(const std::string& path);

}  // namespace lockset::bench
