#include <string>
#include <utility>

#include "backends/migrate/backend.h"
#include "backends/schemes.h"
#include "core/percent.h"
#include "lockset/migration.h"

namespace lockset {
namespace {

constexpr std::string_view example =
    "migrate:?from=mysql%3A%2F%2Fapp%40old%2Flocks&to=postgresql%3A%2F%2Fapp%40new%2Flocks";

struct Addresses {
  std::string from;
  std::string to;
};

Result<Addresses> addresses_of(const Url& url) {
  const auto bad = [](const std::string& why) {
    return Error{Errc::invalid,
                 "bad address of a migration: " + why +
                     "; it is written migrate:?from=ADDRESS&to=ADDRESS with the two "
                     "addresses percent-encoded, or set migrate.from and migrate.to"};
  };
  for (const auto& [key, value] : url.params) {
    // The message does not name the key: it may be the rest of a password that was not encoded.
    if (key != "from" && key != "to") return bad("it has a parameter beside from and to");
  }
  if (url.has_authority || !url.path.empty()) return bad("it has no host and no path");
  Addresses result;
  for (const auto& [key, into] : {std::pair("from", &result.from), std::pair("to", &result.to)}) {
    const auto given = url.params.find(key);
    if (given == url.params.end() || given->second.empty()) {
      return bad(std::string(key) + " is missing");
    }
    const Result<Url> inner = Url::parse(given->second);
    if (!inner) return inner.error();
    if (inner->scheme == url.scheme) return bad(std::string(key) + " is itself a migration");
    *into = given->second;
  }
  if (result.from == result.to) return bad("from and to are the same");
  return result;
}

migrate::OpenStore opener(std::string address) {
  return [address = std::move(address)](TimePoint by) { return open_backend(address, by); };
}

Result<std::unique_ptr<Backend>> open_migration(const Addresses& addresses, TimePoint by) {
  return migrate::open_migrate_backend(opener(addresses.from), opener(addresses.to), by);
}

Status init_both(const Addresses& addresses, TimePoint by) {
  for (const std::string& each : {addresses.from, addresses.to}) {
    if (Status status = init_space(each, by); !status) return status;
  }
  return {};
}

Result<std::vector<Finding>> examine_both(const Addresses& addresses, TimePoint by) {
  std::vector<Finding> all;
  for (const auto& [which, address] :
       {std::pair("old store", &addresses.from), std::pair("new store", &addresses.to)}) {
    Result<std::vector<Finding>> found = examine_space(*address, by);
    if (!found) return found;
    for (Finding& each : *found) {
      each.subject = std::string(which) + ": " + each.subject;
      all.push_back(std::move(each));
    }
  }
  return all;
}

}  // namespace

std::string migrate_url(std::string_view from, std::string_view to) {
  return "migrate:?from=" + percent_encoded(from) + "&to=" + percent_encoded(to);
}

const Scheme migrate_scheme{.name = "migrate",
                            .example = example,
                            .open = with_options<addresses_of, open_migration>,
                            .init = with_options<addresses_of, init_both>,
                            .examine = with_options<addresses_of, examine_both>};

}  // namespace lockset
