// What a server answers to a four-letter word.
#pragma once

#include <cstdint>
#include <string>

namespace lockset::test {

// The whole answer of the server on this port of the loopback to "mntr", "cons" and the like.
// Throws std::runtime_error if there is none.
std::string four_letters(std::uint16_t port, const std::string& word);

// A number from "mntr": "zk_num_alive_connections". Throws if it has none of that name.
std::int64_t monitored(std::uint16_t port, const std::string& name);

}  // namespace lockset::test
