// What the system can't give now: descriptors, threads, room in files.
#pragma once

#include <string>

namespace lockset {

// `error` is an errno value.

// There is none left of something, so that the same call may succeed later.
[[nodiscard]] bool is_shortage(int error) noexcept;
// The system's text, and the limit to raise where there is one.
[[nodiscard]] std::string text_of_errno(int error);
// For libraries that don't tell: whether the process can open nothing now.
[[nodiscard]] bool no_descriptor_left() noexcept;

}  // namespace lockset
