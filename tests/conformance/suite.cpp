#include "tests/conformance/suite.h"

#include <algorithm>
#include <map>
#include <stdexcept>

#include "tests/conformance/availability.h"
#include "tests/conformance/report.h"

namespace lockset::conformance {

namespace {

void skip(const std::string& why) { GTEST_SKIP() << why; }

}  // namespace

void Conformance::SetUp() {
  const Availability& there = availability(harness());
  if (there.unavailable && there.required) {
    FAIL() << harness().name() << " is required and not there: " << *there.unavailable;
  }
  if (there.unavailable) {
    record_skip("the store: " + *there.unavailable);
    GTEST_SKIP() << *there.unavailable;
  }
}

void Conformance::TearDown() {
  backend_.reset();
  space_.reset();
}

Space& Conformance::space() {
  const std::scoped_lock lock(making_);
  if (!space_) space_ = harness().new_space();
  return *space_;
}

std::shared_ptr<Backend> Conformance::backend() {
  if (!backend_) backend_ = open();
  return backend_;
}

std::shared_ptr<Backend> Conformance::open() { return space().open().value(); }

const Traits& Conformance::traits() {
  static std::map<std::string, Traits> known;
  const auto found = known.find(harness().name());
  if (found != known.end()) return found->second;
  return known.emplace(harness().name(), backend()->traits()).first->second;
}

Client Conformance::client(std::string app, std::int64_t epoch) {
  return Client(backend(), std::move(app), epoch);
}

Locks Conformance::locks(Options options) {
  if (options.app.empty()) options.app = "app";
  return lockset::open(space().open().value(), std::move(options)).value();
}

bool expired(Client& client, std::initializer_list<Grant> grants) {
  const TimePoint now = BootClock::now();
  TimePoint over = now;
  for (const Grant& grant : grants) over = std::max(over, now + grant.lease + clock_grain);
  return eventually([&] {
    return BootClock::now() >= over &&
           std::none_of(grants.begin(), grants.end(),
                        [&](const Grant& grant) { return client.is_live(grant.stamp); });
  });
}

bool skip_unless(bool trait, std::string_view why) {
  if (trait) return false;
  record_skip(std::string(why));
  skip("lacks: " + std::string(why));
  return true;
}

std::string describe(const Wanted& items) {
  std::string text;
  for (const LockRequest& item : items) {
    text += text.empty() ? "" : " ";
    text += item.mode == Mode::read ? "r:" : "w:";
    text += item.name;
  }
  return text;
}

std::string name_of(const testing::TestParamInfo<Harness*>& info) { return info.param->name(); }

}  // namespace lockset::conformance
