// Percent-encoding, as in addresses.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lockset {

// Leaves ASCII letters, digits and -._~ as they are.
std::string percent_encoded(std::string_view text);
// Unset if a % is not followed by two hexadecimal digits.
std::optional<std::string> percent_decoded(std::string_view text);

}  // namespace lockset
