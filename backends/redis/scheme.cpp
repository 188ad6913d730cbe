#include "backends/redis/scheme.h"

#include "backends/redis/address.h"
#include "backends/redis/backend.h"
#include "backends/redis/doctor.h"
#include "backends/redis/rights.h"
#include "backends/redis/schema.h"
#include "backends/redis/store.h"

namespace lockset {
namespace {

Result<std::unique_ptr<Backend>> open_redis(const Url& url, TimePoint by) {
  const Result<redis::Options> options = redis::parse_address(url);
  if (!options) return options.error();
  auto store = std::make_unique<redis::Store>(*options);
  if (Status fit = store->check(by); !fit) return fit.error();
  return std::unique_ptr<Backend>(new redis::RedisBackend(std::move(store)));
}

Status init_redis(const Url& url, TimePoint by) {
  const Result<redis::Options> options = redis::parse_address(url);
  return options ? redis::init(*options, by) : options.error();
}

Result<std::vector<Finding>> examine_redis(const Url& url, TimePoint by) {
  const Result<redis::Options> options = redis::parse_address(url);
  if (!options) return options.error();
  return redis::examine(*options, by);
}

Result<std::string> rights_script_redis(const Url& url, Role role, std::string_view account) {
  const Result<redis::Options> options = redis::parse_address(url);
  if (!options) return options.error();
  return redis::role_script(*options, role, account);
}

Status allow_redis(const Url& url, Role role, std::string_view account, TimePoint by) {
  const Result<redis::Options> options = redis::parse_address(url);
  if (!options) return options.error();
  return redis::give_role(*options, role, account, by);
}

}  // namespace

const Scheme redis_scheme{"redis",    "redis://:password@cache/0?space=lockset",
                          open_redis, init_redis,
                          nullptr,    examine_redis,
                          "rediss",   rights_script_redis,
                          allow_redis};

}  // namespace lockset
