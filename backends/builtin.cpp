// The one list of the backends in this build. Written by hand: objects that
// register themselves vanish from static libraries (ADR 0005).
#include <string>
#include <system_error>

#include "backends/schemes.h"
#include "core/shortage.h"

namespace lockset {
namespace {

const Scheme schemes[] = {
    memory_scheme,
#ifdef LOCKSET_HAS_SQLITE
    sqlite_scheme,
#endif
#ifdef LOCKSET_HAS_POSTGRESQL
    postgresql_scheme,
#endif
#ifdef LOCKSET_HAS_MYSQL
    mysql_scheme,
#endif
#ifdef LOCKSET_HAS_REDIS
    redis_scheme,      redis_sentinel_scheme, redis_cluster_scheme,
#endif
#ifdef LOCKSET_HAS_ZOOKEEPER
    zookeeper_scheme,
#endif
#ifdef LOCKSET_HAS_MEMCACHED
    memcached_scheme,
#endif
    migrate_scheme,    quorum_scheme,
};

// What people call a store that has another name here.
std::string_view usual_name(std::string_view scheme) {
  if (scheme == "pgsql" || scheme == "psql") return "postgresql";
  if (scheme == "zk") return "zookeeper";
  if (scheme == "memcache") return "memcached";
  if (scheme == "sqlite3" || scheme == "file") return "sqlite";
  return {};
}

Result<const Scheme*> find_scheme(const Url& url) {
  std::string known;
  std::string hint;
  for (const Scheme& scheme : schemes) {
    if (scheme.name == url.scheme || (!scheme.also.empty() && scheme.also == url.scheme)) {
      return &scheme;
    }
    if (scheme.name == usual_name(url.scheme)) hint = "; write " + std::string(scheme.name) + ":";
    if (!known.empty()) known += ", ";
    known += scheme.name;
    known += ":";
  }
  return Error{Errc::invalid, "unknown scheme \"" + url.scheme + ":\" in " + url.redacted() +
                                  "; this build knows " + known + hint};
}

// The address taken apart, with its scheme.
struct Target {
  Url url;
  const Scheme* scheme;
};

Result<Target> find_target(std::string_view text) {
  Result<Url> url = Url::parse(text);
  if (!url) return url.error();
  Result<const Scheme*> scheme = find_scheme(*url);
  if (!scheme) return scheme.error();
  return Target{*std::move(url), *scheme};
}

// What a backend meets while it makes what it needs, where nothing nearer says it better.
template <class Call>
auto in_words(const Target& target, const Call& call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::system_error& error) {
    return Error{Errc::unavailable,
                 target.url.redacted() + ": " + text_of_errno(error.code().value())};
  }
}

Error no_accounts(const Scheme& scheme) {
  return {Errc::unsupported,
          std::string(scheme.name) +
              ": --program and --operator have no meaning here: this store does not tell "
              "programs from operators; see its page in docs/backends/"};
}

}  // namespace

std::span<const Scheme> builtin_schemes() noexcept { return schemes; }

Result<std::unique_ptr<Backend>> open_backend(std::string_view text, TimePoint by) {
  const Result<Target> target = find_target(text);
  if (!target) return target.error();
  return in_words(*target, [&] { return target->scheme->open(target->url, by); });
}

Status init_space(std::string_view text, TimePoint by) {
  const Result<Target> target = find_target(text);
  if (!target) return target.error();
  return in_words(*target, [&] { return target->scheme->init(target->url, by); });
}

Result<std::string> init_script(std::string_view text) {
  const Result<Target> target = find_target(text);
  if (!target) return target.error();
  if (target->scheme->init_script == nullptr) {
    return Error{Errc::unsupported,
                 std::string(target->scheme->name) +
                     ": has no script to print; run lockset init without --print"};
  }
  return target->scheme->init_script(target->url);
}

Result<std::string> rights_script(std::string_view text, Role role, std::string_view account) {
  const Result<Target> target = find_target(text);
  if (!target) return target.error();
  if (target->scheme->rights_script == nullptr) return no_accounts(*target->scheme);
  return target->scheme->rights_script(target->url, role, account);
}

Status allow(std::string_view text, Role role, std::string_view account, TimePoint by) {
  const Result<Target> target = find_target(text);
  if (!target) return target.error();
  if (target->scheme->allow == nullptr) return no_accounts(*target->scheme);
  return in_words(*target, [&] { return target->scheme->allow(target->url, role, account, by); });
}

Result<std::vector<Finding>> examine_space(std::string_view text, TimePoint by) {
  const Result<Target> target = find_target(text);
  if (!target) return target.error();
  if (target->scheme->examine == nullptr) return std::vector<Finding>{};
  return in_words(*target, [&] { return target->scheme->examine(target->url, by); });
}

}  // namespace lockset
