// Numbers for threads and other owners.
#pragma once

#include <cstdint>

namespace lockset {

// Never given twice in this process.
std::uint64_t new_owner_number() noexcept;

// The number of the calling thread. Unlike a std::thread::id, it is not used again when the thread
// has ended.
std::uint64_t thread_number() noexcept;

}  // namespace lockset
