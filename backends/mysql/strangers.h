// What stands under a space's names and is not what `lockset init` makes. Whoever may make things
// in the database could have put it there: the procedures would run into it with their definer's
// rights.
#pragma once

#include "backends/mysql/address.h"
#include "backends/mysql/connection.h"
#include "lockset/clock.h"
#include "lockset/error.h"

namespace lockset::mysql {

// Errc::misconfigured, naming the first: a view or another program's table under the name of one of
// ours, one with other columns or keys, a trigger or foreign key on one. Touches none of them.
Status refuse_strangers(Connection& connection, const Options& options, TimePoint by);

// Before anything is read from the space's own row: Errc::misconfigured if that is a view, which
// would run what its maker wrote. Fine if there is nothing.
Status refuse_view(Connection& connection, const Options& options, TimePoint by);

}  // namespace lockset::mysql
