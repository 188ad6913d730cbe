#include "tests/conformance/quorum_harness.h"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "backends/quorum/address.h"
#include "backends/quorum/backend.h"
#include "backends/quorum/schema.h"
#include "lockset/memory_backend.h"
#include "lockset/registry.h"
#include "tests/conformance/memory_harness.h"
#ifdef LOCKSET_HAS_POSTGRESQL
#include "tests/conformance/postgresql_harness.h"
#endif
#ifdef LOCKSET_HAS_SQLITE
#include "tests/conformance/sqlite_harness.h"
#endif
#ifdef LOCKSET_HAS_REDIS
#include "tests/conformance/redis_harness.h"
#endif
#include "tests/support/private_server.h"
#include "tests/support/wait.h"

namespace lockset::conformance {
namespace {

class MemoryTrio final : public Space {
 public:
  MemoryTrio() { quorum::init_nodes(nodes(), test::soon()).value(); }
  Result<std::unique_ptr<Backend>> open() override {
    return quorum::open_quorum_backend(nodes(), test::soon());
  }
  std::vector<RawHold> look() override { return look_by_inspecting(*open().value()); }

 private:
  [[nodiscard]] std::vector<quorum::NodeAddress> nodes() const {
    std::vector<quorum::NodeAddress> result;
    for (const auto& store : stores_) {
      result.push_back({.name = "node " + std::to_string(result.size() + 1),
                        .open = [store](TimePoint) -> Result<std::unique_ptr<Backend>> {
                          return make_memory_backend(store);
                        },
                        .exact = true});
    }
    return result;
  }
  const std::array<std::shared_ptr<MemoryStore>, 3> stores_{
      make_memory_store(), make_memory_store(), make_memory_store()};
};

class MemoryTrioHarness final : public Harness {
 public:
  [[nodiscard]] std::string name() const override { return "quorum_memory"; }
  [[nodiscard]] std::string scheme() const override { return "quorum"; }
  [[nodiscard]] HarnessTraits harness_traits() const override {
    return {.stamps_per_us = 16, .sweeps_parts = true, .stores = 3};
  }
  std::unique_ptr<Space> new_space() override { return std::make_unique<MemoryTrio>(); }
};

// A quorum over the spaces at these addresses. They live as long as this one.
class QuorumSpace : public Space {
 public:
  explicit QuorumSpace(std::vector<std::string> addresses) : url_(quorum::quorum_url(addresses)) {
    init_space(url_, test::soon()).value();
  }
  Result<std::unique_ptr<Backend>> open() override { return open_backend(url_, test::soon()); }
  [[nodiscard]] std::string url() const override { return url_; }
  std::vector<RawHold> look() override { return look_by_inspecting(*open().value()); }

 private:
  const std::string url_;
};

}  // namespace

Harness& quorum_memory_harness() {
  static MemoryTrioHarness harness;
  return harness;
}

#ifdef LOCKSET_HAS_SQLITE
namespace {

std::filesystem::path new_folder() {
  std::string path =
      (std::filesystem::temp_directory_path() / "lockset-conformance-XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("no temporary folder");
  return path;
}

class FileTrio final : public QuorumSpace {
 public:
  FileTrio() : FileTrio(new_folder()) {}
  ~FileTrio() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

 private:
  explicit FileTrio(const std::filesystem::path& folder)
      : QuorumSpace({"sqlite:" + (folder / "a.db").string(), "sqlite:" + (folder / "b.db").string(),
                     "sqlite:" + (folder / "c.db").string()}),
        folder_(folder) {}
  const std::filesystem::path folder_;
};

class FileTrioHarness final : public Harness {
 public:
  [[nodiscard]] std::string name() const override { return "quorum_files"; }
  [[nodiscard]] std::string scheme() const override { return "quorum"; }
  [[nodiscard]] HarnessTraits harness_traits() const override {
    return {.opens_after_fork = false, .stamps_per_us = 16, .sweeps_parts = true, .stores = 3};
  }
  std::unique_ptr<Space> new_space() override { return std::make_unique<FileTrio>(); }
};

}  // namespace

Harness& quorum_files_harness() {
  static FileTrioHarness harness;
  return harness;
}
#endif

#ifdef LOCKSET_HAS_REDIS
namespace {

class RedisTrio final : public QuorumSpace {
 public:
  RedisTrio() : QuorumSpace(addresses()) {}

 private:
  static std::vector<std::string> addresses() {
    static std::array<test::PrivateServer, 3> servers{
        test::PrivateServer("redis"), test::PrivateServer("redis"), test::PrivateServer("redis")};
    const std::string space = "?space=t" + Token::random().hex().substr(0, 24);
    std::vector<std::string> result;
    result.reserve(servers.size());
    for (test::PrivateServer& server : servers) result.push_back(server.admin_url() + space);
    return result;
  }
};

class RedisTrioHarness final : public Harness {
 public:
  [[nodiscard]] std::string name() const override { return "quorum_redis"; }
  [[nodiscard]] std::string scheme() const override { return "quorum"; }
  [[nodiscard]] HarnessTraits harness_traits() const override {
    return {.stamps_per_us = 16, .sweeps_parts = true, .stores = 3};
  }
  [[nodiscard]] bool always_available() const override { return false; }
  [[nodiscard]] std::optional<std::string> unavailable() override {
    return test::PrivateServer::unavailable("redis");
  }
  std::unique_ptr<Space> new_space() override { return std::make_unique<RedisTrio>(); }
};

}  // namespace

Harness& quorum_redis_harness() {
  static RedisTrioHarness harness;
  return harness;
}
#endif

#if defined(LOCKSET_HAS_SQLITE) && defined(LOCKSET_HAS_REDIS) && defined(LOCKSET_HAS_POSTGRESQL)
namespace {

using Parts = std::array<std::unique_ptr<Space>, 3>;

class MixedTrio final : public QuorumSpace {
 public:
  MixedTrio()
      : MixedTrio({sqlite_harness().new_space(), redis_harness().new_space(),
                   postgresql_advisory_harness().new_space()}) {}

 private:
  explicit MixedTrio(Parts parts)
      : QuorumSpace({parts[0]->url(), parts[1]->url(), parts[2]->url()}),
        parts_(std::move(parts)) {}
  const Parts parts_;
};

class MixedTrioHarness final : public Harness {
 public:
  [[nodiscard]] std::string name() const override { return "quorum_mixed"; }
  [[nodiscard]] std::string scheme() const override { return "quorum"; }
  [[nodiscard]] HarnessTraits harness_traits() const override {
    // A child that the file refuses has the other two nodes.
    return {.stamps_per_us = 16, .sweeps_parts = true, .stores = 3};
  }
  [[nodiscard]] bool always_available() const override { return false; }
  [[nodiscard]] std::optional<std::string> unavailable() override {
    if (const auto why = redis_harness().unavailable()) return why;
    return postgresql_advisory_harness().unavailable();
  }
  std::unique_ptr<Space> new_space() override { return std::make_unique<MixedTrio>(); }
};

}  // namespace

Harness& quorum_mixed_harness() {
  static MixedTrioHarness harness;
  return harness;
}
#endif

}  // namespace lockset::conformance
