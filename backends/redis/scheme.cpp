#include "backends/redis/address.h"
#include "backends/redis/backend.h"
#include "backends/redis/doctor.h"
#include "backends/redis/rights.h"
#include "backends/redis/schema.h"
#include "backends/redis/store.h"
#include "backends/schemes.h"

namespace lockset {
namespace redis {
namespace {

Result<std::unique_ptr<Backend>> open_space(const Options& options, TimePoint by) {
  auto store = std::make_unique<Store>(options);
  if (Status fit = store->check(by); !fit) return fit.error();
  return std::unique_ptr<Backend>(new RedisBackend(std::move(store)));
}

}  // namespace
}  // namespace redis

const Scheme redis_scheme{
    .name = "redis",
    .example = "redis://:password@cache/0?space=lockset",
    .open = with_options<redis::parse_address, redis::open_space>,
    .init = with_options<redis::parse_address, redis::init>,
    .examine = with_options<redis::parse_address, redis::examine>,
    .also = "rediss",
    .rights_script = with_options<redis::parse_address, redis::rights_script>,
    .allow = with_options<redis::parse_address, redis::allow>,
};

const Scheme redis_sentinel_scheme{
    .name = "redis+sentinel",
    .example = "redis+sentinel://:password@s1,s2,s3/mymaster?space=lockset",
    .open = with_options<redis::parse_address, redis::open_space>,
    .init = with_options<redis::parse_address, redis::init>,
    .examine = with_options<redis::parse_address, redis::examine>,
    .also = "rediss+sentinel",
    .rights_script = with_options<redis::parse_address, redis::rights_script>,
    .allow = with_options<redis::parse_address, redis::allow>,
};

const Scheme redis_cluster_scheme{
    .name = "redis+cluster",
    .example = "redis+cluster://:password@n1,n2,n3,n4,n5,n6?space=lockset",
    .open = with_options<redis::parse_address, redis::open_space>,
    .init = with_options<redis::parse_address, redis::init>,
    .examine = with_options<redis::parse_address, redis::examine>,
    .also = "rediss+cluster",
    .rights_script = with_options<redis::parse_address, redis::rights_script>,
    .allow = with_options<redis::parse_address, redis::allow>,
};

}  // namespace lockset
