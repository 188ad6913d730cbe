#include "tests/migration/stores.h"

#include <array>
#include <sstream>

namespace lockset::migration_tests {

Migration Stores::watched(WatchedBackend::Watch watch) {
  auto shared = std::make_shared<WatchedBackend::Watch>(std::move(watch));
  return {std::make_unique<WatchedBackend>(old_client(), shared),
          std::make_unique<WatchedBackend>(new_client(), shared), clock};
}

Stamp Stores::take(const std::shared_ptr<MemoryStore>& store, const std::string& name,
                   const std::string& tag, Duration lease, bool permanent) {
  const auto backend = make_memory_backend(store);
  const LockSet set = LockSet::make({write(name)}, LockSet::Names::reserved_too).value();
  // As if taken in the migration of this store.
  std::string numbered = tag;
  if (tag.size() >= 2 && tag[1] != '0' && tag.find(':') == std::string::npos) {
    std::ostringstream digits;
    digits << ':' << std::hex << mark(store).migration;
    numbered.insert(2, digits.str());
  }
  const Owner owner{"app", Token::random().hex() + "-0.1.0" + numbered, 0, "ann@host:7 job"};
  const std::array<std::uint32_t, 1> permits{1};
  AcquireRequest request;
  request.set = &set;
  request.permits = permits;
  request.config_version = backend->load_config(soon()).value().version;
  request.token = Token::random();
  request.owner = &owner;
  request.lease = lease;
  request.by = soon();
  const AcquireOutcome outcome = backend->try_acquire(request).value();
  const Grant* const grant = std::get_if<Grant>(&outcome);
  if (grant == nullptr) {
    ADD_FAILURE() << name << " could not be taken";
    return {};
  }
  if (permanent) {
    RenewRequest renewal;
    renewal.hold = grant->stamp;
    renewal.permanent = true;
    EXPECT_TRUE(backend->renew(owner, {&renewal, 1}, soon()).ok());
  }
  return grant->stamp;
}

void Stores::release(const std::shared_ptr<MemoryStore>& store, Stamp stamp) {
  EXPECT_TRUE(make_memory_backend(store)->break_hold(stamp, soon()).value());
}

SpaceConfig Stores::config(const std::shared_ptr<MemoryStore>& store) {
  return make_memory_backend(store)->load_config(soon()).value();
}

MigrationMark Stores::mark(const std::shared_ptr<MemoryStore>& store) {
  return MigrationMark::decode(config(store).migration_phase).value();
}

void Stores::set_mark(const std::shared_ptr<MemoryStore>& store, const MigrationMark& mark) {
  EXPECT_TRUE(
      make_memory_backend(store)->change_config(SetMigrationPhase{mark.encode(), {}}, soon()).ok());
}

MigrationPhase Stores::phase() {
  const Result<MigrationStatus> status = migration().status(soon());
  if (!status) {
    ADD_FAILURE() << status.error().message;
    return MigrationPhase::old_only;
  }
  EXPECT_FALSE(status->switching);
  return status->phase;
}

void Stores::start_anew() {
  old_store = make_memory_store(clock);
  new_store = make_memory_store(clock);
}

Result<MigrationPhase> Stores::make(Migration& one, Move move) {
  Result<MigrationPhase> done = (one.*move)(soon());
  for (int i = 0; i < 10 && !done && done.error().code == Errc::unavailable; ++i) {
    clock.advance(4s);
    done = (one.*move)(soon());
  }
  return done;
}

void Stores::go_to(MigrationPhase wanted) {
  Migration one = migration();
  for (int tries = 0; tries < 40; ++tries) {
    const Result<MigrationStatus> status = one.status(soon());
    ASSERT_TRUE(status.ok()) << status.error().message;
    if (status->phase == wanted && !status->switching) return;
    Result<MigrationPhase> done = wanted < status->phase ? one.roll_back(soon())
                                  : status->phase == MigrationPhase::old_only ? one.start(soon())
                                  : status->phase == MigrationPhase::closed   ? one.finish(soon())
                                                                              : one.advance(soon());
    if (done) continue;
    ASSERT_EQ(done.error().code, Errc::unavailable) << done.error().message;
    clock.advance(4s);
  }
  FAIL() << "not at " << to_string(wanted) << " after many steps";
}

}  // namespace lockset::migration_tests
