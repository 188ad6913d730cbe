// The checker against a store that ends holds before their clients know, as one does whose holds
// end with their connection: only when it says so, and only until a hold is renewed. SEM 10
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>
#include <utility>

#include "lockset/memory_backend.h"
#include "tests/mutants/flaws.h"
#include "tests/mutants/load.h"
#include "tests/support/client.h"
#include "tests/support/recording_backend.h"
#include "tests/support/threads.h"
#include "tests/support/wait.h"

namespace lockset::mutants {
namespace {

using namespace std::chrono_literals;

enum class Deceit : std::uint8_t {
  none,
  ends_holds_without_a_cut,
  renews_what_is_gone,
};

// Several clients ask for "a", and keep it for a moment; in between another thread ends what it
// finds.
history::Report ended_early(Deceit deceit) {
  const std::shared_ptr<Backend> store = make_memory_backend(make_memory_store());
  const std::shared_ptr<Backend> seen =
      deceit == Deceit::renews_what_is_gone ? renewal_without_asking(store) : store;
  constexpr std::size_t clients = 4;
  std::vector<std::shared_ptr<test::Recorder>> recorders;
  std::vector<test::Client> asking;
  for (std::size_t i = 0; i < clients; ++i) {
    recorders.push_back(std::make_shared<test::Recorder>("client-" + std::to_string(i)));
    asking.emplace_back(std::make_shared<test::RecordingBackend>(seen, recorders.back()));
  }
  test::Recorder person("person");
  test::Client ending(store);
  std::atomic<bool> over = false;
  std::atomic<std::size_t> asked = 0;
  std::jthread ends([&] {
    for (int i = 0; i < 20; ++i) {
      const std::size_t enough = asked + 20;
      test::eventually([&] { return asked >= enough; });
      const bool told = deceit != Deceit::ends_holds_without_a_cut;
      if (told) person.record(history::CutBegin{"end"});
      for (const HoldInfo& hold : ending.inspect().holds) {
        (void)ending.backend().break_hold(hold.stamp, test::soon());
      }
      if (told) person.record(history::CutEnd{"end"});
    }
    over = true;
  });
  test::run_threads(clients, [&](std::size_t i) {
    while (!over) {
      const auto outcome = asking[i].ask({{"a", Mode::write}}, {.lease = 10s});
      ++asked;
      const auto* const grant = outcome ? std::get_if<Grant>(&*outcome) : nullptr;
      for (int step = 0; step < 4; ++step) {
        test::linger(100us);  // others may break it
        if (grant == nullptr) break;
        const RenewRequest again{grant->stamp, 10s};
        (void)asking[i].backend().renew(asking[i].owner(), {&again, 1}, test::soon());
      }
      if (grant != nullptr) (void)asking[i].release(grant->stamp);
    }
  });
  ends.join();
  history::History history{person.log()};
  for (const auto& each : recorders) history.push_back(each->log());
  history::Rules rules = strict_rules();
  rules.least = {.grants = 20, .overlaps = 20, .busy = 20};
  return history::check(history, rules).value();
}

// The checker reports that two held the same, and nothing else.
void expect_two_holders(Deceit deceit) {
  const std::set<Invariant> expected{Invariant::exclusion, Invariant::fencing};
  std::set<Invariant> found;
  // Chance decides which clients meet.
  for (int i = 0; i < 50 && found != expected; ++i) {
    for (const history::Violation& each : ended_early(deceit).violations) {
      found.insert(each.invariant);
      EXPECT_TRUE(expected.contains(each.invariant))
          << to_string(each.invariant) << ": " << each.story;
    }
  }
  EXPECT_EQ(found, expected);
}

TEST(CutMemory, TheSoundOnePasses) {
  const history::Report report = ended_early(Deceit::none);
  for (const history::Violation& each : report.violations) {
    ADD_FAILURE() << to_string(each.invariant) << ": " << each.story;
  }
  for (const std::string& each : report.vacuous) ADD_FAILURE() << each;
  EXPECT_GT(report.counts.cut_off, 0U);
}

TEST(CutMemory, AHoldThatEndsWithoutACutIsFlagged) {
  expect_two_holders(Deceit::ends_holds_without_a_cut);
}

TEST(CutMemory, AHoldThatIsRenewedAfterACutIsFlagged) {
  expect_two_holders(Deceit::renews_what_is_gone);
}

}  // namespace
}  // namespace lockset::mutants
