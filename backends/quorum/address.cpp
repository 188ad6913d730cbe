#include "backends/quorum/address.h"

#include <set>

#include "core/percent.h"
#include "lockset/registry.h"

namespace lockset::quorum {
namespace {

constexpr std::size_t fewest = 3;
constexpr std::size_t most = 9;

// Stores whose stamp is exactly the least one that was asked for, unless they are ahead of it.
bool draws_exactly(const std::string& scheme) {
  return scheme == "sqlite" || scheme.starts_with("redis");
}

}  // namespace

std::string node_name(std::size_t position, const std::string& address) {
  return "node " + std::to_string(position + 1) + " (" + redact_url(address) + ")";
}

Result<Addresses> addresses_of(const Url& url) {
  const auto bad = [](const std::string& why) {
    return Error{Errc::invalid, "bad address of a quorum: " + why +
                                    "; it is written quorum:?of=ADDRESS&of=ADDRESS&of=ADDRESS "
                                    "with each address percent-encoded"};
  };
  // The message does not name the key: it may be the rest of a password that was not encoded.
  if (!url.params.empty()) return bad("it has a parameter beside of");
  if (url.has_authority || !url.path.empty()) return bad("it has no host and no path");
  const std::size_t count = url.nodes.size();
  if (count < fewest || count > most || count % 2 == 0) {
    return bad("it names " + std::to_string(count) + (count == 1 ? " lock space" : " lock spaces") +
               ", and a quorum has 3, 5, 7 or 9, so that a majority is clear");
  }
  std::set<std::string> seen;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string& address = url.nodes[i];
    const std::string which = "of number " + std::to_string(i + 1);
    if (address.empty()) return bad(which + " is empty");
    const Result<Url> inner = Url::parse(address);
    if (!inner) return inner.error();
    if (inner->scheme == "quorum") return bad(which + " is itself a quorum");
    if (inner->scheme == "migrate") return bad(which + " is a migration");
    if (inner->scheme == "memory") {
      return bad(which + " is memory:, which each process has for itself");
    }
    if (inner->scheme == "zookeeper") {
      return bad(which + " is ZooKeeper, which is a quorum of servers already");
    }
    if (!seen.insert(address).second) return bad(which + " was named before");
  }
  return Addresses{url.nodes};
}

std::string quorum_url(const std::vector<std::string>& of) {
  std::string url = "quorum:";
  for (const std::string& each : of) {
    url += url.back() == ':' ? "?of=" : "&of=";
    url += percent_encoded(each);
  }
  return url;
}

std::vector<NodeAddress> nodes_of(const Addresses& addresses) {
  std::vector<NodeAddress> nodes;
  for (std::size_t i = 0; i < addresses.of.size(); ++i) {
    const std::string& address = addresses.of[i];
    nodes.push_back({.name = node_name(i, address),
                     .open = [address](TimePoint by) { return open_backend(address, by); },
                     .exact = draws_exactly(address.substr(0, address.find(':')))});
  }
  return nodes;
}

}  // namespace lockset::quorum
