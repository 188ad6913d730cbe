#include "tests/conformance/broken/broken_harness.h"

#include "lockset/forwarding_backend.h"
#include "lockset/memory_backend.h"
#include "tests/conformance/memory_harness.h"

namespace lockset::broken {

namespace {

const Flaw* chosen = nullptr;

class Shared final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
};

class BrokenSpace final : public conformance::Space {
 public:
  Result<std::unique_ptr<Backend>> open() override {
    return std::unique_ptr<Backend>(new Shared(broken_));
  }
  // Looks without the flaw.
  std::vector<conformance::RawHold> look() override {
    return conformance::look_by_inspecting(*make_memory_backend(store_));
  }

 private:
  std::shared_ptr<MemoryStore> store_ = make_memory_store();
  std::shared_ptr<Backend> broken_ = chosen->make(make_memory_backend(store_));
};

class BrokenHarness final : public conformance::Harness {
 public:
  [[nodiscard]] std::string name() const override { return std::string(chosen->name); }
  [[nodiscard]] std::string scheme() const override { return {}; }
  std::unique_ptr<conformance::Space> new_space() override {
    return std::make_unique<BrokenSpace>();
  }
};

}  // namespace

void choose_flaw(const Flaw& flaw) { chosen = &flaw; }

}  // namespace lockset::broken

namespace lockset::conformance {

std::span<Harness* const> all_harnesses() {
  static broken::BrokenHarness harness;
  static Harness* const harnesses[] = {&harness};
  return harnesses;
}

}  // namespace lockset::conformance
