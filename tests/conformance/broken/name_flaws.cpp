// Names that the store confuses: collations, padding, and a table for readers that writers don't
// look at.
#include <map>

#include "lockset/forwarding_backend.h"
#include "tests/conformance/broken/flaws.h"

namespace lockset::broken {

namespace {

// Replaces every name by another one.
class Renaming : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    std::map<LockRequest, std::uint32_t> renamed;
    std::map<std::string, Mode> modes;
    for (std::size_t i = 0; i < request.set->size(); ++i) {
      const LockRequest& item = request.set->items()[i];
      const LockRequest other{rename(item), item.mode};
      renamed[other] = request.permits[i];
      // Two names that became one, in both modes: no set can contain that.
      const auto [entry, is_new] = modes.emplace(other.name, other.mode);
      if (!is_new && entry->second != other.mode) {
        Busy busy;
        busy.name = item.name;
        return AcquireOutcome(std::move(busy));
      }
    }
    std::vector<LockRequest> wanted;
    std::vector<std::uint32_t> permits;
    for (const auto& [item, count] : renamed) {
      wanted.push_back(item);
      permits.push_back(count);
    }
    const LockSet set = LockSet::make(wanted, LockSet::Names::reserved_too).value();
    AcquireRequest other = request;
    other.set = &set;
    other.permits = permits;
    Result<AcquireOutcome> outcome = inner().try_acquire(other);
    if (auto* busy = outcome ? std::get_if<Busy>(&*outcome) : nullptr) {
      for (const LockRequest& item : request.set->items()) {
        if (rename(item) == busy->name) busy->name = item.name;
      }
    }
    return outcome;
  }

 protected:
  [[nodiscard]] virtual std::string rename(const LockRequest& item) const = 0;
};

class CaseIgnored final : public Renaming {
  using Renaming::Renaming;
  [[nodiscard]] std::string rename(const LockRequest& item) const override {
    std::string name = item.name;
    for (char& c : name) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return name;
  }
};

class TrailingBlanksIgnored final : public Renaming {
  using Renaming::Renaming;
  [[nodiscard]] std::string rename(const LockRequest& item) const override {
    const std::size_t last = item.name.find_last_not_of(' ');
    return last == std::string::npos ? " " : item.name.substr(0, last + 1);
  }
};

// Readers and writers in separate tables, and neither looks at the other.
class ReaderCheckLeftOut final : public Renaming {
  using Renaming::Renaming;
  [[nodiscard]] std::string rename(const LockRequest& item) const override {
    if (item.name.size() > 250) return item.name;
    return (item.mode == Mode::read ? "r:" : "w:") + item.name;
  }
};

}  // namespace

std::shared_ptr<Backend> case_ignored(std::shared_ptr<Backend> sound) {
  return std::make_shared<CaseIgnored>(std::move(sound));
}
std::shared_ptr<Backend> trailing_blanks_ignored(std::shared_ptr<Backend> sound) {
  return std::make_shared<TrailingBlanksIgnored>(std::move(sound));
}
std::shared_ptr<Backend> reader_check_left_out(std::shared_ptr<Backend> sound) {
  return std::make_shared<ReaderCheckLeftOut>(std::move(sound));
}

}  // namespace lockset::broken
