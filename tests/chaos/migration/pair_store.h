// Two stores as one; each worker uses one of them, or both through a migration.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "tests/chaos/migration/journey.h"
#include "tests/chaos/stores/store.h"

namespace lockset::chaos {

// Its faults are those of both, "old-server-kill" and "new-server-kill". Two that affect different
// stores may be under way together. For one thread, as every Store.
class PairStore final : public Store {
 public:
  PairStore(std::unique_ptr<Store> from, std::unique_ptr<Store> to);

  // From now on worker `slot` gets this address. All begin with the old store's.
  void configure(std::size_t slot, Way way);
  [[nodiscard]] Way way_of(std::size_t slot) const;
  // Through the proxies of the slot.
  [[nodiscard]] std::string url(std::size_t slot, Way way) const;
  // Without proxies.
  [[nodiscard]] std::string direct_old() const { return from_->direct_url(); }
  [[nodiscard]] std::string direct_new() const { return to_->direct_url(); }
  // Whether other processes can use this store after a process was stopped at any moment. False for
  // SQLite: the process may be inside a transaction.
  [[nodiscard]] bool bears_stopped(Way way) const;

  [[nodiscard]] std::string name() const override;
  [[nodiscard]] std::string version() const override;
  [[nodiscard]] std::string worker_url(std::size_t worker) const override;
  // Through the migration.
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
