#include "backends/memcached/address.h"
#include "backends/memcached/backend.h"
#include "backends/memcached/doctor.h"
#include "backends/memcached/schema.h"
#include "backends/memcached/store.h"
#include "backends/schemes.h"

namespace lockset {
namespace memcached {
namespace {

Result<std::unique_ptr<Backend>> open_space(const Options& options, TimePoint by) {
  auto store = std::make_unique<Store>(options);
  if (Status fit = store->check(by); !fit) return fit.error();
  return std::unique_ptr<Backend>(new MemcachedBackend(std::move(store)));
}

}  // namespace
}  // namespace memcached

const Scheme memcached_scheme{
    .name = "memcached",
    .example = "memcached://cache/lockset",
    .open = with_options<memcached::parse_address, memcached::open_space>,
    .init = with_options<memcached::parse_address, memcached::init>,
    .examine = with_options<memcached::parse_address, memcached::examine>,
};

}  // namespace lockset
