// Receives the wake-ups that the server sends to this client's waiters (LISTEN).
#pragma once

#include <string>

#include "backends/postgresql/store.h"
#include "backends/server/listener.h"

namespace lockset::postgresql {

// Uses a connection of the store, which also serves calls meanwhile. The store must outlive the
// listener.
server::Listener::Listen listening(Store& store);

// The channel of the listener; on it, a waiter is called by its subscription's number.
std::string channel_of(const server::Listener& listener);

}  // namespace lockset::postgresql
