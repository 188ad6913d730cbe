// The password of an address, kept in a file of its own.
#pragma once

#include <string>

namespace lockset::cli {

// `url` with the first line of the file `path` as its password, and unchanged if it names
// no host: embedded stores have none. `origin` says where `path` comes from. Failure 78 for
// a file that can't be read or is empty, and for a url that has a password already. Warns
// of a file that everybody may read.
std::string with_password_from(const std::string& path, const std::string& origin,
                               const std::string& url);

}  // namespace lockset::cli
