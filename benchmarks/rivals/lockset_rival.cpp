#include "benchmarks/rivals/lockset_rival.h"

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "lockset/lockset.h"

namespace lockset::bench {
namespace {

[[noreturn]] void fail(const Error& error) { throw std::runtime_error(error.message); }

class LocksetClient : public Client {
 public:
  explicit LocksetClient(Locks& locks) : locks_(locks) {}

  void lock(std::span<const std::string> names, Mode mode) override {
    // A set is made once and taken often, as in a program that knows its names.
    if (!set_ || mode != mode_ || !std::ranges::equal(names, names_)) make_set(names, mode);
    auto hold = locks_.acquire(*set_);
    if (!hold) fail(hold.error());
    hold_ = std::move(*hold);
  }

  void unlock() override {
    const Status status = hold_->release();
    hold_.reset();
    if (!status) fail(status.error());
  }

 private:
  void make_set(std::span<const std::string> names, Mode mode) {
    names_.assign(names.begin(), names.end());
    mode_ = mode;
    std::vector<LockRequest> wanted;
    for (const std::string& name : names) wanted.push_back({name, mode});
    auto set = LockSet::make(std::move(wanted));
    if (!set) fail(set.error());
    set_ = std::move(*set);
  }

  Locks& locks_;
  std::vector<std::string> names_;
  Mode mode_ = Mode::write;
  std::optional<LockSet> set_;
  std::optional<Hold> hold_;
};

class LocksetEntry : public Entry {
 public:
  LocksetEntry(const Url& url, const LocksetSettings& settings) : locks_(open(url, settings)) {}
  std::unique_ptr<Client> connect() override { return std::make_unique<LocksetClient>(locks_); }

 private:
  static Locks open(const Url& url, const LocksetSettings& settings) {
    auto locks = lockset::open(url.text, {.lease = settings.lease, .observer = settings.events});
    if (!locks) fail(locks.error());
    return std::move(*locks);
  }
  Locks locks_;
};

std::unique_ptr<Entry> enter(const Url& url) { return enter_lockset(url, {}); }

}  // namespace

void EventCounts::on_event(const Event& event) noexcept {
  const std::uint64_t times = event.kind == Event::Kind::collided ? event.count : 1;
  counts_.at(static_cast<std::size_t>(event.kind)).fetch_add(times, std::memory_order_relaxed);
}

std::map<std::string, std::uint64_t> EventCounts::counts() const {
  std::map<std::string, std::uint64_t> result;
  for (std::size_t kind = 0; kind < counts_.size(); ++kind) {
    const std::uint64_t times = counts_[kind].load(std::memory_order_relaxed);
    if (times != 0) result[std::string(to_string(static_cast<Event::Kind>(kind)))] = times;
  }
  return result;
}

std::unique_ptr<Entry> enter_lockset(const Url& url, const LocksetSettings& settings) {
  return std::make_unique<LocksetEntry>(url, settings);
}

const Rival lockset_rival{.name = "lockset",
                          .role = Role::lockset,
                          .waits = true,
                          .reads = true,
                          .most_names = 64,
                          .enter = enter};

}  // namespace lockset::bench
