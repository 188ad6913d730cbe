// SEM 14: a node is a hold of this client only if this client's session owns it: a server that is
// behind may show a node of an ended session, under the same name.
#include "tests/zookeeper/fixture.h"

namespace lockset::zookeeper_tests {
namespace {

class ForeignNode : public ZookeeperTest {};

TEST_F(ForeignNode, IsNeitherFoundNorRenewed) {
  Client mine = client();
  const Token token = Token::random();
  const Grant grant = mine.take({write("a")}, {.token = token});
  ASSERT_TRUE(mine.resolve(token));
  ASSERT_TRUE(mine.renew(grant.stamp, 1min));
  // The same node again, owned by no session.
  const std::string path = root() + "/holds/" + token.hex();
  const std::string record = raw().get(path).value().data;
  ASSERT_EQ(raw().remove(path), 0);
  ASSERT_EQ(raw().create(path, record), 0);
  // A client that ends another's hold signals it by this: otherwise a renewal does not look for it.
  ASSERT_EQ(raw().set(root() + "/holds", ""), 0);
  EXPECT_FALSE(mine.resolve(token));
  EXPECT_FALSE(mine.renew(grant.stamp, 1min));
}

}  // namespace
}  // namespace lockset::zookeeper_tests
