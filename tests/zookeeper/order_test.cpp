// SEM 14: what a request's place among others tells: after it counts as submitted, later requests
// in its session come after it (the removal of an attempt relies on that); and it is not sent over
// another connection than that over which was read what it relies on.
#include "backends/zookeeper/requests.h"
#include "backends/zookeeper/session.h"
#include "lockset/url.h"
#include "tests/support/tcp_proxy.h"
#include "tests/zookeeper/fixture.h"

namespace lockset::zookeeper_tests {
namespace {

class Order : public ZookeeperTest {
 protected:
  static std::shared_ptr<zookeeper::Session> session(const std::string& url) {
    const auto options = zookeeper::parse_address(Url::parse(url).value()).value();
    return zookeeper::Session::open(options, 1min).value();
  }
};

TEST_F(Order, WhatIsAskedOnceARequestIsSubmittedComesBehindIt) {
  const auto session = this->session(url());
  const std::string path = root() + "/order";
  int behind = -1;
  const auto replies = session->run(
      {zookeeper::create(path, "", zookeeper::Lasting::ephemeral)}, soon(), {},
      [&] { behind = session->run({zookeeper::exists(path)}, soon()).value().front().code; });
  ASSERT_TRUE(replies);
  EXPECT_TRUE(replies->front().ok());
  EXPECT_EQ(behind, 0) << "it overtook the request";
}

TEST_F(Order, ARequestGoesOverItsConnectionOrNone) {
  test::TcpProxy proxy(server().port());
  const auto session = this->session(url_through(proxy.port()));
  ASSERT_TRUE(session->ready(soon()));
  const auto make = [&](zookeeper::ConnectionNumber connection) {
    const auto node = zookeeper::create(root() + "/one", "", zookeeper::Lasting::ephemeral);
    return session->run_in(connection, {zookeeper::multi({node})}, soon());
  };
  const zookeeper::ConnectionNumber first = session->connection();
  proxy.cut_all();
  ASSERT_TRUE(eventually([&] { return session->was_cut(); }));
  bool submitted = false;
  const auto refused = session->run_in(
      first, {zookeeper::create(root() + "/one", "", zookeeper::Lasting::ephemeral)}, soon(), {},
      [&] { submitted = true; });
  ASSERT_FALSE(refused);
  checked(refused.error(), Errc::unavailable);
  EXPECT_FALSE(submitted);
  ASSERT_NE(session->connection(), first) << "it was ready";
  EXPECT_FALSE(make(first)) << "as a part of a multi";
  EXPECT_FALSE(raw().get(root() + "/one"));
  const auto made = make(session->connection());
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE(made->front().ok());
}

}  // namespace
}  // namespace lockset::zookeeper_tests
