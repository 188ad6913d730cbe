// Marks what a shared library exports: the names that the public headers declare, and no others.
#pragma once

#if defined(__GNUC__)
#define LOCKSET_EXPORT __attribute__((visibility("default")))
#else
#define LOCKSET_EXPORT
#endif
