#include "tests/zookeeper/fixture.h"

#include <cstdlib>
#include <sstream>
#include <stdexcept>

#include "backends/zookeeper/paths.h"
#include "tests/support/requirement.h"
#include "tests/zookeeper/four_letters.h"

namespace lockset::zookeeper_tests {

test::PrivateServer& server() {
  static test::PrivateServer server("zookeeper");
  return server;
}

test::PrivateServer& ensemble() {
  // A member that has lost the others still serves clients that only read.
  static const int set = setenv("JAVA_TOOL_OPTIONS", "-Dreadonlymode.enabled=true", 1);
  if (set != 0) throw std::runtime_error("no room in the environment");
  static test::PrivateServer ensemble("zookeeper-ensemble");
  return ensemble;
}

std::map<std::string, std::size_t> received() {
  std::map<std::string, std::size_t> counts;
  std::istringstream lines(test::four_letters(server().port(), "cons"));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t name_end = line.find('[');
    const std::size_t count = line.find("recved=");
    if (name_end == std::string::npos || count == std::string::npos) continue;
    counts[line.substr(0, name_end)] = std::stoul(line.substr(count + 7));
  }
  return counts;
}

bool receives(const std::map<std::string, std::size_t>& before, std::size_t more) {
  return eventually([&] {
    for (const auto& [connection, count] : received()) {
      const auto then = before.find(connection);
      if (then != before.end() && count >= then->second + more) return true;
    }
    return false;
  });
}

bool says(const std::string& message, const std::string& part) {
  return message.find(part) != std::string::npos;
}

std::vector<std::string> SpaceView::traces() {
  raw_.sync();
  const std::string root = this->root();
  std::vector<std::string> traces;
  for (const std::string& token : raw_.children(root + "/holds")) {
    traces.push_back("holds/" + token);
  }
  for (const std::string parent : {"names", "queues"}) {
    for (const std::string& name : raw_.children(root + "/" + parent)) {
      for (const std::string& child : raw_.children(root + "/" + parent + "/" + name)) {
        // Not held by anybody: it goes with the idle name.
        if (child != zookeeper::Paths::shares_part) {
          traces.push_back(parent + "/" + name + "/" + child);
        }
      }
    }
  }
  return traces;
}

bool SpaceView::becomes_empty(Duration limit) {
  return eventually([this] { return traces().empty(); }, limit);
}

std::set<std::int64_t> SpaceView::owners() {
  raw_.sync();
  const std::string root = this->root();
  std::set<std::int64_t> owners;
  for (const std::string& token : raw_.children(root + "/holds")) {
    if (const auto node = raw_.get(root + "/holds/" + token)) owners.insert(node->owner);
  }
  return owners;
}

void ZookeeperTest::SetUp() {
  if (!test::have_server("zookeeper")) return;
  space_ = "t" + Token::random().hex().substr(0, 20);
  init_space(url(), soon()).value();
  view_ = std::make_unique<SpaceView>("127.0.0.1:" + std::to_string(server().port()), "/" + space_);
}

void ZookeeperTest::TearDown() {
  if (view_) raw().remove_tree(space());
}

std::string ZookeeperTest::url(const std::string& more) const {
  return url_through(server().port(), more);
}

std::string ZookeeperTest::url_through(std::uint16_t port, const std::string& more) const {
  return "zookeeper://127.0.0.1:" + std::to_string(port) + "?space=" + space_ +
         (more.empty() ? "" : "&" + more);
}

std::shared_ptr<Backend> ZookeeperTest::open(const std::string& more) const {
  return open_backend(url(more), soon()).value();
}

Client ZookeeperTest::client(const std::string& app) const { return Client(open(), app); }

std::string ZookeeperTest::checked(const Error& error, Errc code, const std::string& secret) {
  EXPECT_EQ(error.code, code) << error.message;
  EXPECT_FALSE(says(error.message, "\n")) << "more than one line: " << error.message;
  EXPECT_TRUE(secret.empty() || !says(error.message, secret)) << "tells the secret";
  return error.message;
}

std::string ZookeeperTest::refused(const std::string& url, Errc code, const std::string& secret) {
  const auto opened = open_backend(url, soon());
  if (!opened) return checked(opened.error(), code, secret);
  ADD_FAILURE() << "it was opened";
  return {};
}

}  // namespace lockset::zookeeper_tests
