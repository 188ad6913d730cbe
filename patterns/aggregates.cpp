#include "lockset/patterns/aggregates.h"

#include <map>
#include <set>
#include <utility>

namespace lockset {

RootOf first_parts(std::size_t parts, char separator) {
  return [parts, separator](std::string_view name) -> std::optional<std::string> {
    std::size_t at = name.find(separator);
    for (std::size_t part = 1; part < parts && at != name.npos; ++part) {
      at = name.find(separator, at + 1);
    }
    if (at == name.npos) return std::nullopt;
    return std::string(name.substr(0, at));
  };
}

RootOf with_prefix(std::string prefix, std::string root) {
  return [prefix = std::move(prefix),
          root = std::move(root)](std::string_view name) -> std::optional<std::string> {
    if (!name.starts_with(prefix) || name == root) return std::nullopt;
    return root;
  };
}

void Aggregates::declare(RootOf root_of) { declared_.push_back(std::move(root_of)); }

Result<std::string> Aggregates::root_of(std::string_view name) const {
  std::string at(name);
  std::set<std::string> seen;
  for (;;) {
    std::optional<std::string> root;
    for (const RootOf& each : declared_) {
      if (root = each(at); root && *root != at) break;
      root.reset();
    }
    if (!root) return at;
    if (!seen.insert(std::move(at)).second) {
      return Error{Errc::invalid, "the aggregates go in a circle: " + in_quotes(*root) +
                                      " is a member of a member of itself"};
    }
    at = std::move(*root);
  }
}

Result<LockSet> Aggregates::lock_set(std::vector<LockRequest> wanted) const {
  std::vector<LockRequest> plain;
  std::map<std::string, Mode> roots;
  for (LockRequest& request : wanted) {
    // A bad name is told as it was given: a root may look better than its member.
    if (Status status = check_name(request.name); !status) return std::move(status).error();
    Result<std::string> root = root_of(request.name);
    if (!root) return std::move(root).error();
    if (*root == request.name) {
      plain.push_back(std::move(request));
    } else if (Mode& mode = roots.try_emplace(std::move(*root), Mode::read).first->second;
               request.mode == Mode::write) {
      mode = Mode::write;
    }
  }
  std::vector<LockRequest> set;
  for (LockRequest& request : plain) {
    const auto root = roots.find(request.name);
    if (root == roots.end()) {
      set.push_back(std::move(request));
    } else if (request.mode == Mode::write) {
      root->second = Mode::write;
    }
  }
  for (const auto& [name, mode] : roots) set.push_back({name, mode});
  return LockSet::make(std::move(set));
}

}  // namespace lockset
