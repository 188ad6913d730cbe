#include <utility>

#include "tests/simulation/migration/steering.h"

namespace lockset::simulation {
namespace {

class ByProduct final : public Steering {
 public:
  ByProduct(std::unique_ptr<Backend> from, std::unique_ptr<Backend> to)
      : migration_(std::move(from), std::move(to)) {}

  Result<MigrationPhase> phase(TimePoint by) override {
    const Result<MigrationStatus> status = migration_.status(by);
    if (!status) return status.error();
    return status->phase;
  }
  Result<MigrationPhase> forward(TimePoint by) override {
    const Result<MigrationPhase> now = phase(by);
    if (!now) return now;
    if (*now == MigrationPhase::old_only) return migration_.start(by);
    if (*now >= MigrationPhase::closed) return now;
    return migration_.advance(by);
  }
  Result<MigrationPhase> back(TimePoint by) override {
    const Result<MigrationPhase> now = phase(by);
    if (!now || *now == MigrationPhase::old_only || *now == MigrationPhase::finished) return now;
    return migration_.roll_back(by);
  }
  Result<MigrationPhase> finish(TimePoint by) override { return migration_.finish(by); }

 private:
  Migration migration_;
};

}  // namespace

std::unique_ptr<Steering> steer_by_product(std::unique_ptr<Backend> from,
                                           std::unique_ptr<Backend> to) {
  return std::make_unique<ByProduct>(std::move(from), std::move(to));
}

}  // namespace lockset::simulation
