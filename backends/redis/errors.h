// The only place that maps Redis's errors to Lockset's.
#pragma once

#include <string>
#include <string_view>

#include "backends/answers.h"
#include "lockset/error.h"

namespace lockset::redis {

// The server's error reply `said`: "OOM command not allowed ...". `where` names the store.
// An error that a script ran into counts as the script's. Scripts are written so that the
// server refuses them at their first change or not at all, so a refusal applied nothing.
//
// `no_primary`: what it is that the server does not serve the space as its primary. Who opens has
// the wrong address; whom it served before may find it promoted again, or its successor at the
// address.
Error refused(std::string_view said, const std::string& where, Sent sent,
              Errc no_primary = Errc::misconfigured);

// The one that said so may not be the one to ask by now: one that was demoted, cut off from its
// replicas, or started anew behind the same address. What it says of the request alone is none
// of these.
bool asks_for_another_server(std::string_view said) noexcept;

bool is_noscript(std::string_view said) noexcept;

}  // namespace lockset::redis
