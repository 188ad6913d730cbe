// Two stores as one, of which each worker uses the one, the other, or both by way of a migration.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "tests/chaos/migration/journey.h"
#include "tests/chaos/stores/store.h"

namespace lockset::chaos {

// Its faults are those of both, "old-server-kill" and "new-server-kill"; two that hit different
// stores may be under way together. For one thread, as every Store.
class PairStore final : public Store {
 public:
  PairStore(std::unique_ptr<Store> from, std::unique_ptr<Store> to);

  // From now on worker `slot` is given that address. All begin by the old store's.
  void configure(std::size_t slot, Way way);
  [[nodiscard]] Way way_of(std::size_t slot) const;
  // By the proxies of the slot.
  [[nodiscard]] std::string url(std::size_t slot, Way way) const;
  // Past all proxies.
  [[nodiscard]] std::string direct_old() const { return from_->direct_url(); }
  [[nodiscard]] std::string direct_new() const { return to_->direct_url(); }
  // Whether a process that is stopped at any moment leaves this store to the others. Not SQLite's:
  // it may stand in a transaction.
  [[nodiscard]] bool bears_stopped(Way way) const;

  [[nodiscard]] std::string name() const override;
  [[nodiscard]] std::string version() const override;
  [[nodiscard]] std::string worker_url(std::size_t worker) const override;
  // By way of the migration.
  [[nodiscard]] std::string direct_url() const override;
  [[nodiscard]] Duration lease() const override;
  [[nodiscard]] std::vector<Fault>& faults() override { return faults_; }
  [[nodiscard]] std::vector<std::string> missing() const override { return missing_; }
  void settle() override;
  [[nodiscard]] Left count() override;
  [[nodiscard]] Left left() override;
  [[nodiscard]] history::Rules rules() const override;
  void save_logs(const std::filesystem::path& folder) override;

 private:
  void add_faults(Store& store, const std::string& side);

  std::unique_ptr<Store> from_;
  std::unique_ptr<Store> to_;
  std::vector<Fault> faults_;
  std::vector<std::string> missing_;
  std::vector<Way> ways_;
};

}  // namespace lockset::chaos
