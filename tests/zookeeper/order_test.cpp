// SEM 14: after a request counts as submitted, later requests in its session come after it. The
// removal of an attempt relies on that.
#include "backends/zookeeper/requests.h"
#include "backends/zookeeper/session.h"
#include "lockset/url.h"
#include "tests/zookeeper/fixture.h"

namespace lockset::zookeeper_tests {
namespace {

using Order = ZookeeperTest;

TEST_F(Order, WhatIsAskedOnceARequestIsSubmittedComesBehindIt) {
  const auto options = zookeeper::parse_address(Url::parse(url()).value()).value();
  const auto session = zookeeper::Session::open(options, 10s).value();
  const std::string path = root() + "/order";
  int behind = -1;
  const auto replies = session->run(
      {zookeeper::create(path, "", zookeeper::Lasting::ephemeral)}, soon(), {},
      [&] { behind = session->run({zookeeper::exists(path)}, soon()).value().front().code; });
  ASSERT_TRUE(replies);
  EXPECT_TRUE(replies->front().ok());
  EXPECT_EQ(behind, 0) << "it overtook the request";
}

}  // namespace
}  // namespace lockset::zookeeper_tests
