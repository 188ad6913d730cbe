// "Did you mean ...?"
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace lockset::tools {

// The known word that `typed` was most likely meant to be, or nothing if none is near: at most two
// slips (a letter wrong, missing, too many, or two swapped), in less than half of the word.
std::string_view nearest(std::string_view typed, std::span<const std::string_view> known);

// "; did you mean X?" or nothing.
std::string did_you_mean(std::string_view typed, std::span<const std::string_view> known,
                         std::string_view prefix = "");

}  // namespace lockset::tools
