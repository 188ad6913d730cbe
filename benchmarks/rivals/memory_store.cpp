// Locks within one process. There is no floor: the promise is about the cost of Lockset itself.
#include <array>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "benchmarks/rivals/stores.h"

namespace lockset::bench {
namespace {

// A std::shared_mutex per name.
class Mutexes {
 public:
  std::shared_mutex& of(const std::string& name) {
    const std::lock_guard lock(mutex_);
    return by_name_[name];
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_mutex> by_name_;
};

class MutexClient : public Client {
 public:
  explicit MutexClient(Mutexes& mutexes) : mutexes_(mutexes) {}
  ~MutexClient() override { give_back(); }

  // In the order of the names, so that no two clients wait for each other.
  void lock(std::span<const std::string> names, Mode mode) override {
    mode_ = mode;
    for (const std::string& name : names) {
      std::shared_mutex& mutex = mutexes_.of(name);
      if (mode == Mode::read) {
        mutex.lock_shared();
      } else {
        mutex.lock();
      }
      held_.push_back(&mutex);
    }
  }
  void unlock() override { give_back(); }

 private:
  void give_back() noexcept {
    for (std::shared_mutex* mutex : held_) {
      if (mode_ == Mode::read) {
        mutex->unlock_shared();
      } else {
        mutex->unlock();
      }
    }
    held_.clear();
  }

  Mutexes& mutexes_;
  Mode mode_ = Mode::write;
  std::vector<std::shared_mutex*> held_;
};

class MutexEntry : public Entry {
 public:
  std::unique_ptr<Client> connect() override { return std::make_unique<MutexClient>(mutexes_); }

 private:
  Mutexes mutexes_;
};

constexpr std::array rivals{Rival{
    .name = "std::shared_mutex",
    .role = Role::native,
    .waits = true,
    .reads = true,
    .most_names = 64,
    .enter = [](const Url&) -> std::unique_ptr<Entry> { return std::make_unique<MutexEntry>(); }}};

nlohmann::ordered_json settings(const Url&) { return {{"server", "none: in the process"}}; }

}  // namespace

// No fill: a space exists only as long as the Locks that opened it.
const RivalStore memory_store{.scheme = "memory", .rivals = rivals, .settings = settings};

}  // namespace lockset::bench
