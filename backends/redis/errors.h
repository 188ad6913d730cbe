// The only place that maps Redis's errors to Lockset's.
#pragma once

#include <string>
#include <string_view>

#include "backends/answers.h"
#include "lockset/error.h"

namespace lockset::redis {

// The server's error reply `said`: "OOM command not allowed ...". `where` names the store. An error
// inside a script counts as the script's. Scripts are written so that the server refuses them at
// their first change or not at all, so a refusal applied nothing.
//
// `no_primary`: the code for a server that is not the primary of the space. For a client that
// opens, the address is wrong. A client that it served before may find it promoted again, or its
// successor at the same address.
Error refused(std::string_view said, const std::string& where, Sent sent,
              Errc no_primary = Errc::misconfigured);

// True if another server may be the one to ask by now: this one was demoted, cut off from its
// replicas, or restarted behind the same address. False for errors about the request itself.
bool asks_for_another_server(std::string_view said) noexcept;

bool is_noscript(std::string_view said) noexcept;

}  // namespace lockset::redis
