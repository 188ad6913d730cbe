// All of Lockset's public headers.
#pragma once

#include "lockset/backend.h"
#include "lockset/clock.h"
#include "lockset/error.h"
#include "lockset/forwarding_backend.h"
#include "lockset/hold.h"
#include "lockset/inspection.h"
#include "lockset/lock_set.h"
#include "lockset/locks.h"
#include "lockset/memory_backend.h"
#include "lockset/migration.h"
#include "lockset/migration_phase.h"
#include "lockset/observer.h"
#include "lockset/registry.h"
#include "lockset/space_config.h"
#include "lockset/stamp.h"
#include "lockset/url.h"
