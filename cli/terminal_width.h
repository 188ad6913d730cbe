// How wide a terminal is.
#pragma once

#include <cstddef>
#include <optional>

namespace lockset::cli {

// The columns of the terminal behind this descriptor. Unset: it is not a terminal, or does not
// tell.
std::optional<std::size_t> terminal_width(int fd) noexcept;

}  // namespace lockset::cli
