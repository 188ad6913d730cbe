// Reads the password of an address from a separate file.
#pragma once

#include <string>

namespace lockset::cli {

// `url` with the first line of the file `path` as its password. `url` stays unchanged if it names
// no host: embedded stores have none. `origin` says where `path` comes from. Failure 78 if the file
// can't be read or is empty, and if the url has a password already. Warns if everybody may read the
// file.
std::string with_password_from(const std::string& path, const std::string& origin,
                               const std::string& url);

}  // namespace lockset::cli
