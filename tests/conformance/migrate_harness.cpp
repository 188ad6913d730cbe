#include "tests/conformance/migrate_harness.h"

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "backends/migrate/backend.h"
#include "core/migration_mark.h"
#include "lockset/memory_backend.h"
#include "lockset/migration.h"
#include "lockset/registry.h"
#include "tests/conformance/memory_harness.h"
#include "tests/support/wait.h"

namespace lockset::conformance {

namespace {

using Step = MigrationMark::Step;

constexpr std::uint32_t migration = 17;

void mark(Backend& store, Step step) {
  const MigrationMark mark{step, step == Step::none ? 0 : migration};
  (void)store.change_config(SetMigrationPhase{mark.encode()}, test::soon()).value();
}

struct Marks {
  Step in_old = Step::none;
  Step in_new = Step::none;
};

class MemoryPair final : public Space {
 public:
  explicit MemoryPair(Marks marks) {
    mark(*make_memory_backend(old_), marks.in_old);
    mark(*make_memory_backend(new_), marks.in_new);
  }
  Result<std::unique_ptr<Backend>> open() override {
    const auto opener = [](const std::shared_ptr<MemoryStore>& store) {
      return [store](TimePoint) -> Result<std::unique_ptr<Backend>> {
        return make_memory_backend(store);
      };
    };
    return migrate::open_migrate_backend(opener(old_), opener(new_), test::soon());
  }
  std::vector<RawHold> look() override { return look_by_inspecting(*open().value()); }

 private:
  std::shared_ptr<MemoryStore> old_ = make_memory_store();
  std::shared_ptr<MemoryStore> new_ = make_memory_store();
};

class MemoryPairHarness final : public Harness {
 public:
  MemoryPairHarness(std::string name, Marks marks) : name_(std::move(name)), marks_(marks) {}
  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] std::string scheme() const override { return "migrate"; }
  [[nodiscard]] HarnessTraits harness_traits() const override { return {.stores = 2}; }
  std::unique_ptr<Space> new_space() override { return std::make_unique<MemoryPair>(marks_); }

 private:
  const std::string name_;
  const Marks marks_;
};

}  // namespace

Harness& migrate_old_only_harness() {
  static MemoryPairHarness harness("migrate_old_only", {});
  return harness;
}

Harness& migrate_dual_old_harness() {
  static MemoryPairHarness harness("migrate_dual_old", {Step::dual_old, Step::prepared});
  return harness;
}

Harness& migrate_dual_new_harness() {
  static MemoryPairHarness harness("migrate_dual_new", {Step::dual_new, Step::prepared});
  return harness;
}

Harness& migrate_new_only_harness() {
  static MemoryPairHarness harness("migrate_new_only", {Step::dual_new, Step::open});
  return harness;
}

#ifdef LOCKSET_HAS_SQLITE
namespace {

class FilePair final : public Space {
 public:
  FilePair() : folder_(std::filesystem::temp_directory_path() / "lockset-conformance-XXXXXX") {
    std::string path = folder_.string();
    if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = path;
    mark(*open_backend(file("old"), test::soon()).value(), Step::dual_new);
    mark(*open_backend(file("new"), test::soon()).value(), Step::prepared);
  }
  ~FilePair() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Result<std::unique_ptr<Backend>> open() override { return open_backend(url(), test::soon()); }
  [[nodiscard]] std::string url() const override { return migrate_url(file("old"), file("new")); }
  std::vector<RawHold> look() override { return look_by_inspecting(*open().value()); }

 private:
  [[nodiscard]] std::string file(const std::string& which) const {
    return "sqlite:" + (folder_ / (which + ".db")).string();
  }
  std::filesystem::path folder_;
};

class FilePairHarness final : public Harness {
 public:
  [[nodiscard]] std::string name() const override { return "migrate_files"; }
  [[nodiscard]] std::string scheme() const override { return "migrate"; }
  [[nodiscard]] HarnessTraits harness_traits() const override {
    return {.opens_after_fork = false, .stores = 2};
  }
  std::unique_ptr<Space> new_space() override { return std::make_unique<FilePair>(); }
};

}  // namespace

Harness& migrate_files_harness() {
  static FilePairHarness harness;
  return harness;
}
#endif

}  // namespace lockset::conformance
