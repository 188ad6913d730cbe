// The only place that maps ZooKeeper's error numbers to Lockset's.
#pragma once

#include <string>

#include "backends/answers.h"
#include "lockset/error.h"

namespace lockset::zookeeper {

// The answer was lost, or has not come: the server may still do the request.
bool leaves_doubt(int code) noexcept;

// The session has ended, and its nodes with it.
bool ends_session(int code) noexcept;

// Nothing was applied: only operators may do that.
Error not_an_operator(const std::string& user, const std::string& where);

// `code` is the client library's (ZOO_ERRORS); `where` names the store, for people.
Error error_from(int code, const std::string& where, Sent sent);

}  // namespace lockset::zookeeper
