// How this client hears the wake-ups that the server sends to its waiters (LISTEN).
#pragma once

#include <string>

#include "backends/postgresql/store.h"
#include "backends/server/listener.h"

namespace lockset::postgresql {

// Over a connection of the store's, which serves calls as well meanwhile. The store must outlive
// the listener.
connections::Listener::Listen listening(Store& store);

// What the listener listens on; on it, a waiter is called by its place's number.
std::string channel_of(const connections::Listener& listener);

}  // namespace lockset::postgresql
