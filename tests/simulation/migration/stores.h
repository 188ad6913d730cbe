// Two stores of a migration: the truth about a hold in one of them or in both, and the marks of the
// stores at each moment.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "lockset/space_config.h"
#include "tests/simulation/migration/setting.h"
#include "tests/simulation/store.h"

namespace lockset::simulation {

class Stores final : public Truth {
 public:
  Stores(World& world, const Setting& setting);

  SimulatedStore old_store;
  SimulatedStore new_store;

  [[nodiscard]] bool live(Stamp stamp) override;
  [[nodiscard]] bool ended(Stamp stamp) const override;
  [[nodiscard]] const Fate* fate(Stamp stamp) const override;
  // For the parts that decide.
  [[nodiscard]] const std::map<Stamp, Fate>& fates() const override;
  void handed_over(Stamp stamp) override { handed_over_.insert(stamp); }
  [[nodiscard]] TimePoint stepped() const override { return TimePoint::max(); }

  // The marks of both stores as numbers (core/migration_mark.h).
  struct Marks {
    std::int64_t of_old = 0;
    std::int64_t of_new = 0;
  };
  [[nodiscard]] Marks marks() const { return marks_.back().second; }
  // All marks that they had since `from`.
  [[nodiscard]] std::vector<Marks> marks_since(TimePoint from) const;

  void begin();
  void finish();

 private:
  // The stamps of a hold's other parts, found by the stamp of the part that decides.
  [[nodiscard]] std::vector<Stamp> others(Stamp stamp, const Fate& fate) const;
  [[nodiscard]] bool decides_in_new(Stamp stamp) const;
  [[nodiscard]] bool lost_a_part(Stamp stamp);
  void note(const char* store, std::int64_t Marks::*mark, const SpaceConfig& config);
  void take_picture();

  World& world_;
  const Setting& setting_;
  std::vector<std::pair<TimePoint, Marks>> marks_{{TimePoint{}, {}}};
  std::set<Stamp> handed_over_;
  mutable std::map<Stamp, Fate> fates_;
};

}  // namespace lockset::simulation
