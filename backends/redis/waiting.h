// Receives the wake-ups that the server publishes for this client's waiters (SUBSCRIBE).
#pragma once

#include <string>

#include "backends/redis/store.h"
#include "backends/server/listener.h"

namespace lockset::redis {

// `store` must outlive the listener.
server::Listener::Listen subscribing(Store& store);

// A waiter's name in the store's line: "CLIENT:NUMBER", where CLIENT is the name of the client's
// channel.
std::string waiter_name(const server::Listener& listener,
                        const server::Listener::Subscription& subscription);

}  // namespace lockset::redis
