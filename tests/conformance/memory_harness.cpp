#include "tests/conformance/memory_harness.h"

#include "lockset/memory_backend.h"
#include "tests/support/wait.h"

namespace lockset::conformance {

namespace {

class MemorySpace final : public Space {
 public:
  Result<std::unique_ptr<Backend>> open() override { return make_memory_backend(store_); }
  std::vector<RawHold> look() override { return look_by_inspecting(*make_memory_backend(store_)); }

 private:
  std::shared_ptr<MemoryStore> store_ = make_memory_store();
};

class MemoryHarness final : public Harness {
 public:
  [[nodiscard]] std::string name() const override { return "memory"; }
  [[nodiscard]] std::string scheme() const override { return "memory"; }
  std::unique_ptr<Space> new_space() override { return std::make_unique<MemorySpace>(); }
};

}  // namespace

std::vector<RawHold> look_by_inspecting(Backend& backend) {
  std::vector<RawHold> holds;
  for (HoldInfo& hold : backend.inspect({}, test::soon()).value().holds) {
    holds.push_back({hold.stamp, std::move(hold.items), std::move(hold.owner.app)});
  }
  return holds;
}

Harness& memory_harness() {
  static MemoryHarness harness;
  return harness;
}

}  // namespace lockset::conformance
