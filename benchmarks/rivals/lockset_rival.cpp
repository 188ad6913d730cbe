#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "benchmarks/rivals/rival.h"
#include "lockset/lockset.h"

namespace lockset::bench {
namespace {

[[noreturn]] void fail(const Error& error) { throw std::runtime_error(error.message); }

class LocksetClient : public Client {
 public:
  explicit LocksetClient(Locks& locks) : locks_(locks) {}

  void lock(std::span<const std::string> names, Mode mode) override {
    std::vector<LockRequest> wanted;
    wanted.reserve(names.size());
    for (const std::string& name : names) wanted.push_back({name, mode});
    auto hold = locks_.acquire(std::move(wanted));
    if (!hold) fail(hold.error());
    hold_ = std::move(*hold);
  }

  void unlock() override {
    const Status status = hold_->release();
    hold_.reset();
    if (!status) fail(status.error());
  }

 private:
  Locks& locks_;
  std::optional<Hold> hold_;
};

class LocksetEntry : public Entry {
 public:
  explicit LocksetEntry(const Url& url) : locks_(open(url)) {}
  std::unique_ptr<Client> connect() override { return std::make_unique<LocksetClient>(locks_); }

 private:
  static Locks open(const Url& url) {
    auto locks = lockset::open(url.text);
    if (!locks) fail(locks.error());
    return std::move(*locks);
  }
  Locks locks_;
};

std::unique_ptr<Entry> enter(const Url& url) { return std::make_unique<LocksetEntry>(url); }

}  // namespace

const Rival lockset_rival{.name = "lockset",
                          .role = Role::lockset,
                          .waits = true,
                          .reads = true,
                          .most_names = 64,
                          .enter = enter};

}  // namespace lockset::bench
