#include <string>
#include <utility>

#include "backends/quorum/address.h"
#include "backends/quorum/backend.h"
#include "backends/quorum/doctor.h"
#include "backends/quorum/schema.h"
#include "backends/schemes.h"

namespace lockset {
namespace {

constexpr std::string_view quorum_example =
    "quorum:?of=redis%3A%2F%2Fa%2Flocks&of=redis%3A%2F%2Fb%2Flocks&of=redis%3A%2F%2Fc%2Flocks";

Error of_node(const quorum::Addresses& addresses, std::size_t position, const Error& why) {
  return {why.code, quorum::node_name(position, addresses.of[position]) + ": " + why.message};
}

Result<std::unique_ptr<Backend>> open_quorum(const quorum::Addresses& addresses, TimePoint by) {
  return quorum::open_quorum_backend(quorum::nodes_of(addresses), by);
}

Status init_quorum(const quorum::Addresses& addresses, TimePoint by) {
  for (std::size_t i = 0; i < addresses.of.size(); ++i) {
    if (Status status = init_space(addresses.of[i], by); !status) {
      return of_node(addresses, i, status.error());
    }
  }
  return quorum::init_nodes(quorum::nodes_of(addresses), by);
}

Status allow_in_quorum(const quorum::Addresses& addresses, Role role, std::string_view account,
                       TimePoint by) {
  for (std::size_t i = 0; i < addresses.of.size(); ++i) {
    if (Status status = allow(addresses.of[i], role, account, by); !status) {
      return of_node(addresses, i, status.error());
    }
  }
  return {};
}

}  // namespace

const Scheme quorum_scheme{.name = "quorum",
                           .example = quorum_example,
                           .open = with_options<quorum::addresses_of, open_quorum>,
                           .init = with_options<quorum::addresses_of, init_quorum>,
                           .examine = with_options<quorum::addresses_of, quorum::examine>,
                           .allow = with_options<quorum::addresses_of, allow_in_quorum>};

}  // namespace lockset
