// The only place where the library's return codes become Lockset's errors.
#pragma once

#include <libmemcached/memcached.h>

#include <string>

#include "backends/answers.h"
#include "lockset/error.h"

namespace lockset::memcached {

// `where` names the store. REQUIRES: `code` is an error, not an answer such as "not found".
Error failed(memcached_st* client, memcached_return_t code, Sent sent, const std::string& where);

// The server answered that it did not apply a change: the connection is as good as before.
bool is_refusal(memcached_return_t code) noexcept;

}  // namespace lockset::memcached
