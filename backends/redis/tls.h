// rediss: the handshake, and the check of the server's identity.
#pragma once

#include <hiredis/hiredis.h>

#include "backends/redis/address.h"
#include "lockset/error.h"

namespace lockset::redis {

// On a connected, blocking context. The server's certificate must be signed by ssl_ca (without it,
// by one of the system's authorities) and be issued for the host of the address; hiredis itself
// does not check the latter. Errc::misconfigured otherwise, Errc::unavailable if the connection
// breaks.
Status start_tls(redisContext& context, const Options& options);

}  // namespace lockset::redis
