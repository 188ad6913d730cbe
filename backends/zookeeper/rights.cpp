#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "backends/zookeeper/acl.h"
#include "backends/zookeeper/schema.h"
#include "backends/zookeeper/store.h"

namespace lockset::zookeeper {
namespace {

class Giving {
 public:
  Giving(OpenSpace& space, TimePoint by) : space_(space), by_(by) {}

  Status run(Role role, const std::string& account) {
    if (Status known = find_administrators(); !known) return known;
    const auto is_one = [&](const std::vector<std::string>& ids) {
      return std::find(ids.begin(), ids.end(), account) != ids.end();
    };
    if (is_one(administrators_)) {
      return Error{Errc::misconfigured, space_.where + ": " + in_quotes(account) +
                                            " is the account that the space belongs to, and may do "
                                            "everything: name another one"};
    }
    const Result<std::shared_ptr<const KnownConfig>> now = space_.config.load(by_);
    if (!now) return now.error();
    rights_ = (*now)->stored.rights;
    give(role, account);
    // An account with new rights finds the nodes ready; an account with fewer rights loses the
    // first of them now.
    if (Status set = set_fixed(); !set) return set;
    // From here on clients make nodes with these rights; a step that would make nodes with others
    // is refused.
    const auto changed = space_.config.change(
        [&](StoredConfig& stored, std::int64_t) {
          rights_ = stored.rights;
          give(role, account);
          stored.rights = rights_;
          stored.config.version = space_.config.version_after(stored.config.version);
          return true;
        },
        by_);
    if (!changed) return changed.error();
    if (Status set = set_fixed(); !set) return set;
    for (const std::string& above : {space_.paths.names(), space_.paths.queues()}) {
      if (Status set = set_below(above, true); !set) return set;
    }
    for (const std::string& above : {space_.paths.holds(), space_.paths.renewals()}) {
      if (Status set = set_below(above, false); !set) return set;
    }
    return {};
  }

 private:
  void give(Role role, const std::string& account) {
    rights_.administrators = administrators_;
    for (auto* const ids : {&rights_.programs, &rights_.operators}) std::erase(*ids, account);
    (role == Role::programs ? rights_.programs : rights_.operators).push_back(account);
  }

  // Finds the accounts that have all rights on the settings.
  Status find_administrators() {
    const Result<Replies> replies = run({acl(space_.paths.settings())});
    if (!replies) return replies.error();
    const Reply& reply = replies->front();
    if (reply.code == ZNOAUTH) return not_the_owner();
    if (!reply.ok()) return error_from(reply.code, space_.where, Sent::reading);
    for (const AclEntry& entry : reply.acl) {
      if (entry.rights != ZOO_PERM_ALL) continue;
      if (entry.scheme != "digest") {
        return Error{Errc::misconfigured,
                     space_.where +
                         ": the space was made without a user, and is open to everybody: make one "
                         "with a user in the address, and give rights in that"};
      }
      // A server shows the digests only to users who may change them.
      if (!is_digest_id(entry.id)) return not_the_owner();
      administrators_.push_back(entry.id);
    }
    if (administrators_.empty()) return not_the_owner();
    return {};
  }
  [[nodiscard]] Error not_the_owner() const {
    return {
        Errc::misconfigured,
        space_.where + ": this user may not give rights: that takes the user that made the space"};
  }

  Status set_fixed() {
    const Paths& paths = space_.paths;
    Acl reading = acl_of_config(rights_);
    for (AclEntry& entry : reading) {
      if (entry.rights != ZOO_PERM_ALL) entry.rights = ZOO_PERM_READ;
    }
    std::vector<Request> requests{set_acl(paths.settings(), acl_of_settings(rights_)),
                                  set_acl(paths.breaks(), acl_of_settings(rights_)),
                                  set_acl(paths.config(), acl_of_config(rights_)),
                                  set_acl(paths.root(), reading),
                                  set_acl(head_path(space_.options.root()), reading)};
    for (const std::string& path :
         {paths.names(), paths.holds(), paths.queues(), paths.renewals()}) {
      requests.push_back(set_acl(path, acl_of_locks(rights_)));
    }
    return set_all(std::move(requests));
  }

  // Sets the rights of the nodes below, and if `deeper` of those below them.
  Status set_below(const std::string& above, bool deeper) {
    const Result<Replies> list = run({children(above)});
    if (!list) return list.error();
    if (!list->front().ok() && list->front().code != ZNONODE) {
      return error_from(list->front().code, space_.where, Sent::reading);
    }
    std::vector<Request> requests;
    for (const std::string& child : list->front().children) {
      requests.push_back(set_acl(below(above, child), acl_of_locks(rights_)));
    }
    if (Status set = set_all(std::move(requests)); !set) return set;
    if (!deeper) return {};
    for (const std::string& child : list->front().children) {
      if (Status set = set_below(below(above, child), false); !set) return set;
    }
    return {};
  }

  Status set_all(std::vector<Request> requests) {
    if (requests.empty()) return {};
    const Result<Replies> replies = run(std::move(requests));
    if (!replies) return replies.error();
    for (const Reply& reply : *replies) {
      if (reply.code == ZNOAUTH) return not_the_owner();
      if (!reply.ok() && reply.code != ZNONODE) {
        return error_from(reply.code, space_.where, Sent::change);
      }
    }
    return {};
  }

  Result<Replies> run(std::vector<Request> requests) {
    const Result<std::shared_ptr<Session>> session = space_.sessions.general(by_);
    if (!session) return session.error();
    return (*session)->run(std::move(requests), by_);
  }

  OpenSpace& space_;
  const TimePoint by_;
  std::vector<std::string> administrators_;
  Rights rights_;
};

}  // namespace

Status allow(const Options& options, Role role, std::string_view account, TimePoint by) {
  if (!is_digest_id(account)) {
    return Error{
        Errc::invalid,
        "an account of ZooKeeper is USER:DIGEST, where DIGEST is the SHA-1 of "
        "USER:PASSWORD in base64 (docs/backends/zookeeper.md says how to make it), never a "
        "password"};
  }
  const Result<std::unique_ptr<OpenSpace>> space = OpenSpace::open(options, by);
  if (!space) return space.error();
  return Giving(**space, by).run(role, std::string(account));
}

}  // namespace lockset::zookeeper
