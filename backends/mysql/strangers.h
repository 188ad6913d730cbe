// Objects under a space's names that `lockset init` does not make. Anybody who may make things in
// the database could have put them there: the procedures would run them with their definer's
// rights.
#pragma once

#include "backends/mysql/address.h"
#include "backends/mysql/connection.h"
#include "lockset/clock.h"
#include "lockset/error.h"

namespace lockset::mysql {

// Errc::misconfigured, with the first one's name: a view or another program's table under one of
// our names, a table with other columns or keys, a trigger or foreign key on one. Touches none of
// them.
Status refuse_strangers(Connection& connection, const Options& options, TimePoint by);

// Called before the space's own row is read: Errc::misconfigured if that is a view, which would run
// its maker's code. Ok if there is nothing.
Status refuse_view(Connection& connection, const Options& options, TimePoint by);

}  // namespace lockset::mysql
