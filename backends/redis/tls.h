// rediss: the handshake, and whom the server has to prove to be.
#pragma once

#include <hiredis/hiredis.h>

#include "backends/redis/address.h"
#include "lockset/error.h"

namespace lockset::redis {

// On a connected, blocking context. The server's certificate must be signed by ssl_ca (by an
// authority of the system's without it) and be made out to the host of the address: hiredis
// by itself does not look at the latter. Errc::misconfigured where that is not so,
// Errc::unavailable where the connection breaks.
Status start_tls(redisContext& context, const Options& options);

}  // namespace lockset::redis
