// One client under load: its actions, and its record of them. Private to load.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/mutants/load.h"
#include "tests/support/client.h"

namespace lockset::mutants {

// Used by one thread at a time.
class Actor {
 public:
  Actor(const Scene& scene, const std::string& name, std::uint64_t seed);

  // For one round: asks for sets, and keeps and ends the grants as the load says.
  void take_and_give_back(Resources* resources);
  // Until the others have ended.
  void look(const std::atomic<bool>& stop);
  void change_permits(const std::atomic<bool>& stop);

  [[nodiscard]] test::Client& client() { return client_; }
  [[nodiscard]] history::Log log() const { return recorder_->log(); }

 private:
  bool chance(double share);
  test::Wanted wanted();
  // What nobody is writing, as a condition of the items; nothing if it can't be one.
  std::vector<Expected> observe(const test::Wanted& items);
  void step(Resources* resources);
  void pause();
  void keep(Stamp stamp, TimePoint asked);
  void renew(Stamp stamp);
  void release(Stamp stamp);

  const Load load_;
  const std::shared_ptr<test::Recorder> recorder_;
  test::Client client_;
  std::mt19937_64 random_;
};

}  // namespace lockset::mutants
