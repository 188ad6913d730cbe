#include "backends/redis/record.h"

#include <charconv>

namespace lockset::redis {
namespace {

// Reads a record field by field; `good` turns false if it is not a record.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  std::int64_t number(char end) {
    std::int64_t value = 0;
    const auto [at, failed] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    const auto used = static_cast<std::size_t>(at - rest_.data());
    if (failed != std::errc() || used >= rest_.size() || rest_[used] != end) return good_ = false;
    rest_.remove_prefix(used + 1);
    return value;
  }
  std::string bytes(std::size_t count) {
    if (count > rest_.size()) {
      good_ = false;
      return {};
    }
    std::string text(rest_.substr(0, count));
    rest_.remove_prefix(count);
    return text;
  }
  std::string text() {
    const std::int64_t size = number(':');
    return good_ && size >= 0 ? bytes(static_cast<std::size_t>(size)) : std::string();
  }
  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
  bool good_ = true;
};

}  // namespace

std::string packed(std::string_view text) {
  std::string result = std::to_string(text.size());
  result += ':';
  result += text;
  return result;
}

std::string pack(const Token& token, const Owner& owner, std::span<const LockRequest> items) {
  std::string text = token.hex();
  text += std::to_string(items.size());
  text += ',';
  text += packed(owner.app);
  text += std::to_string(owner.epoch);
  text += ';';
  text += packed(owner.instance);
  text += packed(owner.label);
  for (const LockRequest& item : items) {
    text += item.mode == Mode::read ? 'r' : 'w';
    text += packed(item.name);
  }
  return text;
}

std::optional<Record> unpack(std::string_view text) {
  Reader reader(text);
  Record record;
  record.since_us = reader.number(';');
  record.token = reader.bytes(32);
  const std::int64_t count = reader.number(',');
  record.owner.app = reader.text();
  record.owner.epoch = reader.number(';');
  record.owner.instance = reader.text();
  record.owner.label = reader.text();
  for (std::int64_t i = 0; i < count && reader.good(); ++i) {
    const std::string mode = reader.bytes(1);
    record.items.push_back({reader.text(), mode == "r" ? Mode::read : Mode::write});
  }
  if (!reader.good() || !reader.at_end()) return {};
  return record;
}

std::optional<Record> unpack_waiter(std::string_view text) {
  constexpr std::size_t times = 2 * 16;
  constexpr std::size_t overtaken = 1 + 9;  // "o000000003"
  if (text.size() < times + overtaken) return {};
  return unpack(text.substr(text[times] == 'o' ? times + overtaken : times));
}

std::optional<std::vector<LockRequest>> items_of_waiter(std::string_view text) {
  std::optional<Record> record = unpack_waiter(text);
  if (!record) return {};
  return std::move(record->items);
}

std::string modes_of(std::span<const LockRequest> items) {
  std::string modes;
  for (const LockRequest& item : items) modes += item.mode == Mode::read ? 'r' : 'w';
  return modes;
}

}  // namespace lockset::redis
