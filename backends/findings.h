// The findings of `lockset doctor` that several stores have: the same words for every store.
#pragma once

#include <string>
#include <string_view>

#include "lockset/registry.h"

namespace lockset::findings {

using Level = Finding::Level;

Finding good(std::string subject, std::string text);
Finding warning(std::string subject, std::string text);
Finding unsafe(std::string subject, std::string text);
// There is no lock space yet.
Finding no_space(Level level, std::string text);

// good() if `fit`; else a finding of the level `otherwise`, with the text `trouble`, which names
// the remedy.
Finding good_if(bool fit, Level otherwise, std::string subject, std::string as_it_is,
                std::string trouble);
// The fact could not be read, which does not mean that it is wrong.
Finding unreadable(Level level, std::string subject, const std::string& why);

// About the connection between this host and a server. `local`: over a Unix socket. `verified`:
// with TLS, and the certificate was checked.
Finding encryption(bool local, bool verified, std::string trouble);
// Whether a server has room for a client that opens up to `wanted` more connections. `setting` is
// the server's setting that limits them; `note` adds something about that client.
Finding room(std::string setting, long used, long most, long wanted, const std::string& note = {});

// What the user of the address may do in the space.
Finding rights(const std::string& user, Role role);
Finding owner(const std::string& user, std::string_view advice = {});

}  // namespace lockset::findings
