/* Lockset in C, for programs in C and for bindings of other languages. (lockset/lockset.h is the
 * C++ library.) docs/semantics.md says what a lock set, a hold, a stamp and a lease are.
 *
 *   lockset_locks* locks;
 *   char* why = NULL;
 *   if (lockset_open("sqlite:/var/lib/jobs/locks.db", NULL, &locks, &why) != LOCKSET_OK) ...
 *   lockset_request wanted[] = {{"ws2", LOCKSET_WRITE}, {"ws1", LOCKSET_READ}};
 *   lockset_hold* hold;
 *   if (lockset_acquire(locks, wanted, 2, 5000, NULL, &hold, &why) != LOCKSET_OK) ...
 *   ...
 *   lockset_hold_free(hold);
 *   lockset_locks_free(locks);
 *
 * Results. A call that can fail returns a lockset_code. It sets its results only if it returns
 * LOCKSET_OK. `why` may be NULL; otherwise a call that fails sets *why to one line for people, in
 * UTF-8, which the caller frees with lockset_text_free (NULL if there is no memory for it), and one
 * that succeeds leaves it alone. No C++ exception passes this border.
 *
 * Ownership. What a call puts into a result belongs to the caller, who frees it with the function
 * that its type names. The free functions take NULL. All arguments are copied: they are needed
 * during the call only, unless it says otherwise. Holds may be freed before or after their locks;
 * freeing the locks releases them.
 *
 * Threads. All calls on one lockset_locks or lockset_stop may come from any threads at once. On one
 * lockset_hold so may lockset_hold_stamp, _valid, _valid_for, _lost_reason, _floor and _renew; the
 * other calls come from one thread at a time. Free an object while no other call uses it. Callbacks
 * run on threads of the library: they must not block, must not free the locks, and must not throw.
 *
 * fork. In the child, calls on the parent's objects fail, and it opens its own.
 *
 * Times are in milliseconds. Names are UTF-8. */
#ifndef LOCKSET_C_H
#define LOCKSET_C_H

#include <stddef.h>
#include <stdint.h>

#include "lockset/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The numbers never change; later versions may add some. include/lockset/error.h says more. */
typedef enum lockset_code {
  LOCKSET_OK = 0,
  LOCKSET_TIMEOUT = 1,        /* the wait ended before the set was free; nothing is held */
  LOCKSET_CANCELLED = 2,      /* a lockset_stop ended the wait, or the locks were freed */
  LOCKSET_NOT_HELD = 3,       /* no such hold: released, expired or broken */
  LOCKSET_CHANGED = 4,        /* not returned by the calls below */
  LOCKSET_APP_IN_USE = 5,     /* reclaim, and another live instance of the application runs */
  LOCKSET_SUPERSEDED = 6,     /* a newer instance of the application has taken over */
  LOCKSET_INVALID = 7,        /* the caller's mistake: a bad name, set, lease or option */
  LOCKSET_MISCONFIGURED = 8,  /* the store or its address is set up wrongly */
  LOCKSET_UNSUPPORTED = 9,    /* this store can't do that */
  LOCKSET_UNAVAILABLE = 10,   /* the store could not be asked; nothing was applied */
  LOCKSET_INDETERMINATE = 11, /* the reply was lost; the change may have been applied */
  LOCKSET_ROLLED_BACK = 12,   /* the store was restored or wiped */
  LOCKSET_INTERNAL = 13,      /* a fault of Lockset, or an answer that makes no sense */
  LOCKSET_NO_MEMORY = 14
} lockset_code;

typedef enum lockset_mode { LOCKSET_READ = 0, LOCKSET_WRITE = 1 } lockset_mode;

typedef enum lockset_lost_reason {
  LOCKSET_NOT_LOST = 0,
  LOCKSET_LOST_EXPIRED = 1,
  LOCKSET_LOST_GONE = 2,
  LOCKSET_LOST_APP_LOST = 3,
  LOCKSET_LOST_SUPERSEDED = 4,
  LOCKSET_LOST_IN_DOUBT = 5
} lockset_lost_reason;

/* A client of a lock space: lockset_locks_free. */
typedef struct lockset_locks lockset_locks;
/* A granted set: lockset_hold_free. */
typedef struct lockset_hold lockset_hold;
/* Ends waits: lockset_stop_free. */
typedef struct lockset_stop lockset_stop;

typedef struct lockset_request {
  const char* name;
  int32_t mode; /* a lockset_mode */
} lockset_request;

/* A wait until the set is granted. */
#define LOCKSET_FOREVER ((int64_t)-1)
/* A lease until the hold is released. */
#define LOCKSET_NO_LEASE ((int64_t)-1)

/* Set all of it to zero, and `size` to sizeof(lockset_options). A zero leaves a default. */
typedef struct lockset_options {
  size_t size;
  const char* app;   /* the application: its processes may release each other's holds */
  const char* label; /* shown to people */
  int64_t lease;     /* of holds that set none; at least 1000, or LOCKSET_NO_LEASE */
  int64_t io_timeout;
  int64_t store_patience;
  int64_t open_patience;
  int32_t reclaim; /* not 0: take over from dead instances of the application; needs `app` */
} lockset_options;

/* Set all of it to zero, and `size` to sizeof(lockset_acquire_options). A zero leaves a default. */
typedef struct lockset_acquire_options {
  size_t size;
  const char* label;
  int64_t lease;
  int32_t outlives_process; /* not 0: only its lease ends the hold if this process dies */
  lockset_stop* stop;       /* ends the wait; may be freed while the wait goes on */
} lockset_acquire_options;

/* The version of the library: "0.1.0". The text lives until the process ends. */
LOCKSET_EXPORT const char* lockset_version(void);
/* "timeout", "not_held" and so on; "unknown" for other numbers. The same lifetime. */
LOCKSET_EXPORT const char* lockset_code_name(int32_t code);
/* One line for people. The same lifetime. */
LOCKSET_EXPORT const char* lockset_lost_reason_text(int32_t reason);
LOCKSET_EXPORT void lockset_text_free(char* text);

/* Makes the space at this address, or upgrades an older one: what `lockset init` does. */
LOCKSET_EXPORT lockset_code lockset_init(const char* url, char** why);

/* `options` may be NULL. */
LOCKSET_EXPORT lockset_code lockset_open(const char* url, const lockset_options* options,
                                         lockset_locks** locks, char** why);
/* Releases all of its holds, and ends the acquires that were started, with LOCKSET_CANCELLED. */
LOCKSET_EXPORT void lockset_locks_free(lockset_locks* locks);

/* Waits until all of the set is granted, or `wait` is over. Nothing is held while it waits.
 * `options` may be NULL. */
LOCKSET_EXPORT lockset_code lockset_acquire(lockset_locks* locks, const lockset_request* wanted,
                                            size_t count, int64_t wait,
                                            const lockset_acquire_options* options,
                                            lockset_hold** hold, char** why);
/* One try. LOCKSET_OK and *hold == NULL: somebody else has it. `stop` is not used. */
LOCKSET_EXPORT lockset_code lockset_try_acquire(lockset_locks* locks, const lockset_request* wanted,
                                                size_t count,
                                                const lockset_acquire_options* options,
                                                lockset_hold** hold, char** why);

/* Gets the result of lockset_start_acquire: `hold`, which it owns, or NULL with a code that is not
 * LOCKSET_OK and a text that lives as long as the call. */
typedef void (*lockset_acquired)(void* data, lockset_code code, lockset_hold* hold,
                                 const char* why);
/* As lockset_acquire, without waiting: `done` is called exactly once, with `data`, on a thread of
 * the library or, if the call fails at once, by this one. No thread waits meanwhile: any number of
 * acquires share a few. */
LOCKSET_EXPORT void lockset_start_acquire(lockset_locks* locks, const lockset_request* wanted,
                                          size_t count, int64_t wait,
                                          const lockset_acquire_options* options,
                                          lockset_acquired done, void* data);

/* Releases a hold of this application by its stamp, also one of another process. */
LOCKSET_EXPORT lockset_code lockset_release_stamp(lockset_locks* locks, int64_t stamp, char** why);
/* Ends the hold with this stamp, whoever has it: for emergencies. Its holder learns of it at its
 * next renewal. */
LOCKSET_EXPORT lockset_code lockset_break_stamp(lockset_locks* locks, int64_t stamp, char** why);

/* The fencing token; greater than those of all earlier holds on its names. 0 for NULL. */
LOCKSET_EXPORT int64_t lockset_hold_stamp(const lockset_hold* hold);
/* The lowest stamp that may act on this name beside this hold; 0 if the store gives none. */
LOCKSET_EXPORT int64_t lockset_hold_floor(const lockset_hold* hold, const char* name);
/* 1 while nobody else can have it, else 0. Local and cheap: ask before each step. */
LOCKSET_EXPORT int32_t lockset_hold_valid(const lockset_hold* hold);
/* 1 if that will still be so after this time even if no renewal succeeds. */
LOCKSET_EXPORT int32_t lockset_hold_valid_for(const lockset_hold* hold, int64_t time);
LOCKSET_EXPORT lockset_lost_reason lockset_hold_lost_reason(const lockset_hold* hold);
/* Calls `lost` with `data` once, when the hold is lost: at once if it is already. Never because of
 * a release. lockset_hold_free waits for a call that is under way on another thread; after it no
 * call comes. */
LOCKSET_EXPORT lockset_code lockset_hold_on_lost(lockset_hold* hold, void (*lost)(void* data),
                                                 void* data, char** why);
/* Renews it now; the library does so by itself at each third of the lease. */
LOCKSET_EXPORT lockset_code lockset_hold_renew(lockset_hold* hold, char** why);
/* Ends the hold, whatever is returned; the object has to be freed all the same. LOCKSET_NOT_HELD:
 * it had ended before, and somebody else may have held the set meanwhile. */
LOCKSET_EXPORT lockset_code lockset_hold_release(lockset_hold* hold, char** why);
/* Takes all its names as write (upgrade) or as read (downgrade), without waiting and without
 * letting go. *done: 1 if so; then this object is the new hold, with a new stamp. 0: somebody is in
 * the way, and it stands as it was. Callbacks of lockset_hold_on_lost do not pass over. */
LOCKSET_EXPORT lockset_code lockset_hold_upgrade(lockset_hold* hold, int32_t* done, char** why);
LOCKSET_EXPORT lockset_code lockset_hold_downgrade(lockset_hold* hold, int32_t* done, char** why);
/* Stops managing the hold without ending it: it ends with its lease, or by its stamp. */
LOCKSET_EXPORT lockset_code lockset_hold_detach(lockset_hold* hold, int64_t* stamp, char** why);
/* Releases the hold if it is still held. */
LOCKSET_EXPORT void lockset_hold_free(lockset_hold* hold);

/* NULL if there is no memory. */
LOCKSET_EXPORT lockset_stop* lockset_stop_new(void);
/* Ends all waits that have it, now and later. */
LOCKSET_EXPORT void lockset_stop_request(lockset_stop* stop);
LOCKSET_EXPORT void lockset_stop_free(lockset_stop* stop);

#ifdef __cplusplus
}
#endif

#endif
