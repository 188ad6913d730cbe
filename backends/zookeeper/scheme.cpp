#include "backends/schemes.h"
#include "backends/zookeeper/address.h"
#include "backends/zookeeper/backend.h"
#include "backends/zookeeper/doctor.h"
#include "backends/zookeeper/schema.h"
#include "backends/zookeeper/store.h"

namespace lockset {
namespace zookeeper {
namespace {

Result<std::unique_ptr<Backend>> open_space(const Options& options, TimePoint by) {
  const TimePoint connect_by = std::min(by, BootClock::now() + options.connect_timeout);
  Result<std::unique_ptr<OpenSpace>> space = OpenSpace::open(options, connect_by);
  if (!space) return space.error();
  return std::unique_ptr<Backend>(new ZookeeperBackend(*std::move(space)));
}

}  // namespace
}  // namespace zookeeper

const Scheme zookeeper_scheme{
    .name = "zookeeper",
    .example = "zookeeper://zk1:2181,zk2:2181,zk3:2181/jobs?space=lockset",
    .open = with_options<zookeeper::parse_address, zookeeper::open_space>,
    .init = with_options<zookeeper::parse_address, zookeeper::init>,
    .examine = with_options<zookeeper::parse_address, zookeeper::examine>,
    .allow = with_options<zookeeper::parse_address, zookeeper::allow>,
};

}  // namespace lockset
