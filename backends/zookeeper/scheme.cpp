#include "backends/zookeeper/scheme.h"

#include "backends/zookeeper/address.h"
#include "backends/zookeeper/backend.h"
#include "backends/zookeeper/doctor.h"
#include "backends/zookeeper/schema.h"
#include "backends/zookeeper/store.h"

namespace lockset {
namespace {

Result<std::unique_ptr<Backend>> open_zookeeper(const Url& url, TimePoint by) {
  Result<zookeeper::Options> options = zookeeper::parse_address(url);
  if (!options) return options.error();
  const TimePoint connect_by = std::min(by, BootClock::now() + options->connect_timeout);
  Result<std::unique_ptr<zookeeper::OpenSpace>> space =
      zookeeper::OpenSpace::open(*options, connect_by);
  if (!space) return space.error();
  return std::unique_ptr<Backend>(new zookeeper::ZookeeperBackend(*std::move(space)));
}

Status init_zookeeper(const Url& url, TimePoint by) {
  const Result<zookeeper::Options> options = zookeeper::parse_address(url);
  return options ? zookeeper::init(*options, by) : options.error();
}

Status allow_zookeeper(const Url& url, Role role, std::string_view account, TimePoint by) {
  const Result<zookeeper::Options> options = zookeeper::parse_address(url);
  return options ? zookeeper::allow(*options, role, std::string(account), by) : options.error();
}

Result<std::vector<Finding>> examine_zookeeper(const Url& url, TimePoint by) {
  const Result<zookeeper::Options> options = zookeeper::parse_address(url);
  if (!options) return options.error();
  return zookeeper::examine(*options, by);
}

}  // namespace

const Scheme zookeeper_scheme{"zookeeper",
                              "zookeeper://zk1:2181,zk2:2181,zk3:2181/jobs?space=lockset",
                              open_zookeeper,
                              init_zookeeper,
                              nullptr,
                              examine_zookeeper,
                              {},
                              nullptr,
                              allow_zookeeper};

}  // namespace lockset
