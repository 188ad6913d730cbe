#include "backends/memcached/state.h"

#include <charconv>
#include <cstring>

namespace lockset::memcached {
namespace {

constexpr std::string_view head = "lockset ";

// Numbers are followed by a semicolon, texts are written LENGTH;BYTES.
class Writer {
 public:
  Writer& operator<<(std::int64_t number) {
    char digits[20];
    text_.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
    text_ += ';';
    return *this;
  }
  Writer& operator<<(std::string_view bytes) {
    *this << static_cast<std::int64_t>(bytes.size());
    text_ += bytes;
    return *this;
  }
  std::string text_;
};

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  std::int64_t number() {
    std::int64_t value = 0;
    const auto [at, failed] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    const auto used = static_cast<std::size_t>(at - rest_.data());
    if (failed != std::errc() || used >= rest_.size() || rest_[used] != ';') {
      good_ = false;
      rest_ = {};
      return 0;
    }
    rest_.remove_prefix(used + 1);
    return value;
  }
  std::string text() {
    const std::int64_t size = number();
    if (!good_ || size < 0 || static_cast<std::size_t>(size) > rest_.size()) {
      good_ = false;
      return {};
    }
    std::string bytes(rest_.substr(0, static_cast<std::size_t>(size)));
    rest_.remove_prefix(bytes.size());
    return bytes;
  }
  // Calls `one` so many times as the next number says.
  template <class One>
  void each(One one) {
    for (std::int64_t left = number(); good_ && left > 0; --left) one();
  }
  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
  bool good_ = true;
};

std::int64_t count(std::size_t size) { return static_cast<std::int64_t>(size); }

// 0: no permits of its own.
std::int64_t permits(const std::optional<std::uint32_t>& own) { return own ? *own : 0; }

std::optional<std::uint32_t> permits(std::int64_t number) {
  if (number <= 0) return {};
  return static_cast<std::uint32_t>(number);
}

HoldRecord read_hold(Reader& reader) {
  HoldRecord hold;
  hold.stamp.value = reader.number();
  const std::string token = reader.text();
  if (token.size() == hold.token.bytes.size()) {
    std::memcpy(hold.token.bytes.data(), token.data(), token.size());
  }
  hold.owner.app = reader.text();
  hold.owner.instance = reader.text();
  hold.owner.epoch = reader.number();
  hold.owner.label = reader.text();
  hold.since_us = reader.number();
  hold.end_us = reader.number();
  hold.lease_us = reader.number();
  reader.each([&] {
    const Mode mode = reader.number() == 0 ? Mode::read : Mode::write;
    hold.items.push_back({reader.text(), mode});
  });
  return hold;
}

void write_hold(Writer& writer, const HoldRecord& hold) {
  writer << hold.stamp.value
         << std::string_view(reinterpret_cast<const char*>(hold.token.bytes.data()),
                             hold.token.bytes.size())
         << std::string_view(hold.owner.app) << std::string_view(hold.owner.instance)
         << hold.owner.epoch << std::string_view(hold.owner.label) << hold.since_us << hold.end_us
         << hold.lease_us << count(hold.items.size());
  for (const LockRequest& item : hold.items) {
    writer << std::int64_t{item.mode == Mode::read ? 0 : 1} << std::string_view(item.name);
  }
}

}  // namespace

std::string encode(const State& state) {
  Writer writer;
  writer.text_ = head;
  const SpaceConfig& config = state.config;
  writer << schema_version << config.version << micros(config.max_lease) << config.stamp_base.value
         << count(config.permits.size());
  for (const auto& [name, entry] : config.permits) {
    writer << std::string_view(name) << permits(entry.read) << permits(entry.write);
  }
  writer << count(config.epochs.size());
  for (const auto& [app, epoch] : config.epochs) writer << std::string_view(app) << epoch;
  writer << state.last_stamp.value << std::string_view(state.process) << state.born_us
         << state.quarantine_us << state.longest_us << state.raised_until_us
         << state.lease_before_us << count(state.ended.size());
  for (const Stamp stamp : state.ended) writer << stamp.value;
  writer << count(state.holds.size());
  for (const HoldRecord& hold : state.holds) write_hold(writer, hold);
  return std::move(writer.text_);
}

std::optional<State> decode(std::string_view text, std::string& schema) {
  schema.clear();
  if (!text.starts_with(head)) return {};
  Reader reader(text.substr(head.size()));
  schema = reader.text();
  if (schema != schema_version) return {};
  State state;
  SpaceConfig& config = state.config;
  config.version = reader.number();
  config.max_lease = std::chrono::microseconds(reader.number());
  config.stamp_base.value = reader.number();
  reader.each([&] {
    SpaceConfig::Entry& entry = config.permits[reader.text()];
    entry.read = permits(reader.number());
    entry.write = permits(reader.number());
  });
  reader.each([&] {
    std::int64_t& epoch = config.epochs[reader.text()];
    epoch = reader.number();
  });
  state.last_stamp.value = reader.number();
  state.process = reader.text();
  state.born_us = reader.number();
  state.quarantine_us = reader.number();
  state.longest_us = reader.number();
  state.raised_until_us = reader.number();
  state.lease_before_us = reader.number();
  reader.each([&] { state.ended.push_back(Stamp{reader.number()}); });
  reader.each([&] { state.holds.push_back(read_hold(reader)); });
  if (!reader.good() || !reader.at_end()) return {};
  return state;
}

}  // namespace lockset::memcached
