// The one place where ZooKeeper's error numbers become Lockset's.
#pragma once

#include <string>

#include "backends/answers.h"
#include "lockset/error.h"

namespace lockset::zookeeper {

// The answer was lost, or has not come: the request may still be done.
bool leaves_doubt(int code) noexcept;

// The session is no more, and its nodes with it.
bool ends_session(int code) noexcept;

// `code` is the client library's (ZOO_ERRORS); `where` names the store, for people.
// Nothing was applied: that is for operators.
Error not_an_operator(const std::string& user, const std::string& where);

Error error_from(int code, const std::string& where, Sent sent);

}  // namespace lockset::zookeeper
