#include "tests/mutants/resource.h"

#include <algorithm>

namespace lockset::mutants {
namespace {

class Right final : public Resource {
 public:
  bool admit(Stamp stamp, Stamp floor) override {
    if (stamp < greatest_) return false;
    greatest_ = std::max(greatest_, floor);
    return true;
  }

 private:
  Stamp greatest_;
};

class ChecksNothing final : public Resource {
 public:
  bool admit(Stamp, Stamp) override { return true; }
};

class IgnoresFloors final : public Resource {
 public:
  bool admit(Stamp stamp, Stamp) override {
    if (stamp < greatest_) return false;
    greatest_ = stamp;
    return true;
  }

 private:
  Stamp greatest_;
};

}  // namespace

std::unique_ptr<Resource> right_resource() { return std::make_unique<Right>(); }
std::unique_ptr<Resource> resource_that_checks_nothing() {
  return std::make_unique<ChecksNothing>();
}
std::unique_ptr<Resource> resource_that_ignores_floors() {
  return std::make_unique<IgnoresFloors>();
}

void Resources::use(const std::string& name, Stamp stamp, Stamp floor, test::Recorder& recorder) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Resource>& resource = all_[name];
  if (!resource) resource = make_();
  const TimePoint at = recorder.now();
  const bool accepted = resource->admit(stamp, floor);
  recorder.record_at(at, history::Use{stamp, name, accepted});
}

}  // namespace lockset::mutants
