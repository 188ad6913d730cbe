// How this client hears the wake-ups that the server sends to its waiters (LISTEN).
#pragma once

#include <string>

#include "backends/connections/listener.h"
#include "backends/connections/socket_watchdog.h"
#include "backends/postgresql/address.h"

namespace lockset::postgresql {

// `options` and `watchdog` must outlive the listener.
connections::Listener::Listen listening(const Options& options,
                                        connections::SocketWatchdog& watchdog);

// What the listener listens on; on it, a waiter is called by its place's number.
std::string channel_of(const connections::Listener& listener);

}  // namespace lockset::postgresql
