// Leader election: of all that run this, one leads. The others wait, and one of them takes over
// when the leader ends, is cut off or is killed.
//
//   leader_election [URL]     here three candidates in one process; in life one on each host
//
// URL is a store that clients share, not memory:, of which each client has its own.
#include <lockset/lockset.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

std::atomic<int> leaders{0};
std::atomic<bool> twice{false};

// Leads until `term` steps are done or the office is lost. A step must be shorter than the margin
// that it asks for.
void lead(const std::string& me, const lockset::Hold& office, int term) {
  if (++leaders > 1) twice = true;
  for (int step = 0; step < term; ++step) {
    if (!office.valid_for(1s)) break;  // step down in time, even if the network hangs
    // The stamp is the number of the term: who receives orders refuses those of an earlier one.
    if (step == 0) std::cout << me + " leads, term " + std::to_string(office.stamp().value) + "\n";
    std::this_thread::sleep_for(5ms);
  }
  --leaders;
}

void candidate(lockset::Locks locks, const std::string& me) {
  lockset::Hold office = locks.acquire({lockset::write("leader")}).value();  // waits for its turn
  lead(me, office, 10);
}  // resigns: another one is woken

}  // namespace

int main(int argc, char** argv) try {
  const std::string url = argc > 1 ? argv[1] : "sqlite:leader_election.db";
  {
    std::vector<std::jthread> candidates;
    for (const char* name : {"host1", "host2", "host3"}) {
      candidates.emplace_back(candidate, lockset::open(url, {.label = name, .lease = 5s}).value(),
                              name);
    }
  }
  std::cout << (twice ? "two led at a time\n" : "each led, and never two at a time\n");
  return twice ? 1 : 0;
} catch (const std::exception& error) {  // of .value(), for example if the store is away
  std::cerr << error.what() << "\n";
  return 2;
}
