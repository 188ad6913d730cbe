// The in-memory backend: locks between the threads of one process. It serves tests, and is the
// reference that every other backend is compared with.
#pragma once

#include <memory>

#include "lockset/backend.h"
#include "lockset/clock.h"
#include "lockset/export.h"

namespace lockset LOCKSET_EXPORT {

class MemoryStore;  // the space; shared by the backends opened on it

// A new, empty space. `clock` decides when leases end, in the store and for the clients that are
// opened on it (Options::clock); it must outlive both. Moving a test's clock wakes no waiters: they
// try again on their own, at most a second later.
std::shared_ptr<MemoryStore> make_memory_store(const Clock& clock = real_clock());

// A separate copy of `store` as it is at this instant, like a backup or a promoted replica: its
// holds, its configuration, its last stamp. Waiters are not copied.
std::shared_ptr<MemoryStore> copy_memory_store(MemoryStore& store,
                                               const Clock& clock = real_clock());

// One client of the space.
std::unique_ptr<Backend> make_memory_backend(std::shared_ptr<MemoryStore> store);

}  // namespace LOCKSET_EXPORT
