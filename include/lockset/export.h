// What a shared library shows: the names that these headers declare, and no others.
#pragma once

#if defined(__GNUC__)
#define LOCKSET_EXPORT __attribute__((visibility("default")))
#else
#define LOCKSET_EXPORT
#endif
