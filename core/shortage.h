// Resources that the system lacks at the moment: descriptors, threads, room in files.
#pragma once

#include <string>

namespace lockset {

// `error` is an errno value.

// Some resource is used up, so that the same call may succeed later.
[[nodiscard]] bool is_shortage(int error) noexcept;
// The system's text, and the limit to raise if there is one.
[[nodiscard]] std::string text_of_errno(int error);
// For libraries that give no reason: whether the process can open nothing now.
[[nodiscard]] bool no_descriptor_left() noexcept;

}  // namespace lockset
