// Commands for Redis that look right but are wrong, on a real server: the checker finds each one,
// and the right ones of the same shape pass under the same load.
#include <gtest/gtest.h>

#include <optional>
#include <ostream>

#include "tests/mutants/load.h"
#include "tests/mutants/redis_store.h"
#include "tests/redis/raw_client.h"
#include "tests/support/private_server.h"
#include "tests/support/requirement.h"

namespace lockset::mutants {
namespace {

using namespace std::chrono_literals;
using Take = RedisSteps::Take;

struct Commands {
  const char* name;
  RedisSteps steps;
  // Unset: nothing, because they are right.
  std::optional<Invariant> meant{};
  std::vector<Invariant> also{};
  Load load{};
  std::vector<Invariant> perhaps{};
};

constexpr auto exclusion = Invariant::exclusion;
constexpr auto fencing = Invariant::fencing;

const Load crowd{.clients = 8, .round = 200ms, .reads = 0, .keep = 2ms};
// Few clients, so that the names are often free.
const Load few{.clients = 3, .round = 200ms, .reads = 0, .keep = 5ms};
// Holders that release after their lease has ended and another one holds the name.
const Load late{.round = 400ms,
                .names = 1,
                .largest_set = 1,
                .reads = 0,
                .lease = 150ms,
                .keep = 4ms,
                .overstaying = 0.4};

const Commands all_commands[] = {
    {"right_crowd", {}, {}, {}, crowd},
    {"right_few", {}, {}, {}, few},
    {"right_late", {}, {}, {}, late},
    {"look_first", {.take = Take::look_first}, exclusion, {fencing}, crowd},
    {"stamp_before_the_script", {.take = Take::stamp_first}, fencing, {}, crowd},
    // Its stamp is older than its names, but few clients seldom come between the two.
    {"one_by_one", {.take = Take::one_by_one}, Invariant::busy, {}, few, {fencing}},
    {"release_by_name", {.release_compares = false}, exclusion, {fencing}, late},
};

void PrintTo(const Commands& commands, std::ostream* out) { *out << commands.name; }

class RedisMutants : public testing::TestWithParam<Commands> {};

TEST_P(RedisMutants, AreFlagged) {
  if (!test::have_server("redis")) return;
  static test::PrivateServer server("redis", {"appendfsync no"});
  test::RawRedis(server.admin_url()).say({"FLUSHALL"});
  Scene scene;
  scene.connect = [&] { return open_redis_store(server.admin_url(), GetParam().steps); };
  scene.load = GetParam().load;
  scene.rules.least = {.grants = 12, .overlaps = 12, .busy = 12, .faults = 0};
  if (GetParam().meant) {
    expect_flagged(scene, *GetParam().meant, GetParam().also, GetParam().perhaps);
  } else {
    expect_sound(scene);
  }
}

INSTANTIATE_TEST_SUITE_P(Commands, RedisMutants, testing::ValuesIn(all_commands),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace lockset::mutants
