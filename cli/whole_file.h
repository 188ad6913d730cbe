// A file that others read at any moment: they find the former text or the new one, never a part.
#pragma once

#include <string>
#include <string_view>

namespace lockset::cli {

// Puts a file with this text, which everybody may read, in the place of `path`. Failure 64 if there
// is something else than a file, 74 if it can't be written; then `path` is as it was.
void replace_file(const std::string& path, std::string_view text);

}  // namespace lockset::cli
