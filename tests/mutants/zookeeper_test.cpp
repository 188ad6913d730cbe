// Operations on ZooKeeper that look right but are wrong, on a real server: the checker finds each
// one, and the right ones of the same shape pass under the same load.
#include <gtest/gtest.h>

#include <optional>
#include <ostream>

#include "tests/mutants/load.h"
#include "tests/mutants/zookeeper_store.h"
#include "tests/support/private_server.h"
#include "tests/support/requirement.h"

namespace lockset::mutants {
namespace {

using namespace std::chrono_literals;

struct Operations {
  const char* name;
  ZookeeperSteps steps;
  // Unset: nothing, because they are right.
  std::optional<Invariant> meant{};
  std::vector<Invariant> also{};
};

const Operations all_operations[] = {
    {"right_one", {}},
    {"versions_not_checked",
     {.checks_versions = false},
     Invariant::exclusion,
     {Invariant::fencing}},
    {"stamp_before_the_operation", {.stamp_first = true}, Invariant::fencing},
};

void PrintTo(const Operations& operations, std::ostream* out) { *out << operations.name; }

class ZookeeperMutants : public testing::TestWithParam<Operations> {};

TEST_P(ZookeeperMutants, AreFlagged) {
  if (!test::have_server("zookeeper")) return;
  static test::PrivateServer server("zookeeper");
  const std::string hosts = "127.0.0.1:" + std::to_string(server.port());
  // Each test releases everything at its end.
  static const bool made = (make_zookeeper_store(hosts, {"a", "b"}), true);
  ASSERT_TRUE(made);
  Scene scene;
  scene.connect = [&] { return open_zookeeper_store(hosts, GetParam().steps); };
  scene.load = {.clients = 8, .round = 200ms, .reads = 0, .keep = 2ms};
  scene.rules.least = {.grants = 40, .overlaps = 40, .busy = 20, .faults = 0};
  if (GetParam().meant) {
    expect_flagged(scene, *GetParam().meant, GetParam().also);
  } else {
    expect_sound(scene);
  }
}

INSTANTIATE_TEST_SUITE_P(Operations, ZookeeperMutants, testing::ValuesIn(all_operations),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace lockset::mutants
