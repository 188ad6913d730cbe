// Ends another client's session, as if its time had run out.
#pragma once

#include <cstdint>

namespace lockset::test {

// Takes the session over, with the password that a server derives from its number, and closes it:
// it has ended on return, and its client learns of it. `port`: a server's port on the loopback.
// Throws std::runtime_error if there is no such session.
void end_session(std::uint16_t port, std::int64_t id);

}  // namespace lockset::test
