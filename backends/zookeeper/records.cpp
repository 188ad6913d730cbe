#include "backends/zookeeper/records.h"

#include <charconv>
#include <chrono>

#include "backends/zookeeper/paths.h"

namespace lockset::zookeeper {
namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;

// The first line of every node's data. Each layout has its own number.
constexpr std::string_view format_line = "lockset 1\n";
// The first line of the head node: spaces of version 1 had their configuration there.
constexpr std::string_view head_line = "lockset 2\n";

void add(std::string& text, std::string_view key, std::string_view value) {
  text.append(key).append("=").append(value).append("\n");
}
void add(std::string& text, std::string_view key, std::int64_t value) {
  add(text, key, std::to_string(value));
}

// Takes the lines "key=value" apart, one after another.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}

  // False at the end, or at a line without the form: see broken().
  bool next() {
    if (rest_.empty()) return false;
    const std::size_t end = rest_.find('\n');
    const std::size_t equals = rest_.find('=');
    if (end == std::string_view::npos || equals == std::string_view::npos || equals > end) {
      broken_ = true;
      return false;
    }
    key_ = rest_.substr(0, equals);
    value_ = rest_.substr(equals + 1, end - equals - 1);
    rest_.remove_prefix(end + 1);
    return true;
  }

  [[nodiscard]] std::string_view key() const { return key_; }
  template <class Number>
  void read(Number& number) {
    read(value_, number);
  }
  void read(std::string& text) { read(value_, text); }
  void read(Duration& duration) {
    std::int64_t us = 0;
    read(value_, us);
    duration = microseconds(us);
  }
  // "FIRST REST"
  std::string_view first_word() {
    const std::size_t space = value_.find(' ');
    if (space == std::string_view::npos) return broken_ = true, std::string_view();
    const std::string_view word = value_.substr(0, space);
    value_.remove_prefix(space + 1);
    return word;
  }
  template <class Number>
  void read(std::string_view text, Number& number) {
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failed != std::errc() || end != text.data() + text.size()) broken_ = true;
  }
  void read(std::string_view part, std::string& text) {
    if (std::optional<std::string> read = unescaped(part)) {
      text = *std::move(read);
    } else {
      broken_ = true;
    }
  }

  void spoil() { broken_ = true; }
  [[nodiscard]] bool broken() const { return broken_; }

 private:
  std::string_view rest_;
  std::string_view key_;
  std::string_view value_;
  bool broken_ = false;
};

std::string permits_text(const std::optional<std::uint32_t>& permits) {
  return permits ? std::to_string(*permits) : "-";
}

void read_permits(Lines& lines, std::optional<std::uint32_t>& permits) {
  const std::string_view word = lines.first_word();
  if (word == "-") return;
  lines.read(word, permits.emplace());
}

}  // namespace

std::string to_text(const Record& record) {
  std::string text(format_line);
  add(text, "base", record.base);
  add(text, "lease_us", duration_cast<microseconds>(record.lease).count());
  add(text, "app", escaped(record.owner.app));
  add(text, "instance", escaped(record.owner.instance));
  add(text, "epoch", record.owner.epoch);
  add(text, "label", escaped(record.owner.label));
  for (const LockRequest& item : record.items) {
    add(text, item.mode == Mode::write ? "write" : "read", escaped(item.name));
  }
  return text;
}

std::optional<Record> record_from(std::string_view text) {
  if (!text.starts_with(format_line)) return {};
  Record record;
  Lines lines(text.substr(format_line.size()));
  while (lines.next()) {
    if (lines.key() == "base") lines.read(record.base);
    if (lines.key() == "lease_us") lines.read(record.lease);
    if (lines.key() == "app") lines.read(record.owner.app);
    if (lines.key() == "instance") lines.read(record.owner.instance);
    if (lines.key() == "epoch") lines.read(record.owner.epoch);
    if (lines.key() == "label") lines.read(record.owner.label);
    if (lines.key() == "write" || lines.key() == "read") {
      LockRequest& item = record.items.emplace_back();
      item.mode = lines.key() == "write" ? Mode::write : Mode::read;
      lines.read(item.name);
    }
  }
  if (lines.broken() || record.items.empty()) return {};
  return record;
}

std::string to_text(const TraceRecord& trace) {
  std::string text(format_line);
  add(text, "base", trace.base);
  if (trace.label) add(text, "label", escaped(*trace.label));
  return text;
}

std::optional<TraceRecord> trace_from(std::string_view text) {
  if (!text.starts_with(format_line)) return {};
  TraceRecord trace;
  Lines lines(text.substr(format_line.size()));
  while (lines.next()) {
    if (lines.key() == "base") lines.read(trace.base);
    if (lines.key() == "label") lines.read(trace.label.emplace());
  }
  if (lines.broken() || trace.base <= 0) return {};
  return trace;
}

std::string generation_text(std::string_view generation) {
  std::string text(head_line);
  add(text, "generation", generation);
  return text;
}

std::optional<std::string> generation_from(std::string_view text) {
  if (!text.starts_with(head_line)) return {};
  std::string generation;
  Lines lines(text.substr(head_line.size()));
  while (lines.next()) {
    if (lines.key() == "generation") lines.read(generation);
  }
  if (lines.broken() || !is_generation(generation)) return {};
  return generation;
}

std::string to_text(const StoredConfig& stored) {
  std::string text(format_line);
  add(text, "base", stored.base);
  add(text, "version", stored.config.version);
  if (stored.layout >= newest_layout) add(text, "layout", stored.layout);
  if (stored.traces) add(text, "traces", 1);
  for (const auto& [app, epoch] : stored.config.epochs) {
    add(text, "epoch", std::to_string(epoch) + " " + escaped(app));
  }
  return text;
}

std::string settings_text(const StoredConfig& stored) {
  std::string text(format_line);
  const SpaceConfig& config = stored.config;
  add(text, "max_lease_us", duration_cast<microseconds>(config.max_lease).count());
  add(text, "max_overtakes", config.max_overtakes);
  add(text, "migration_phase", config.migration_phase);
  add(text, "stamp_base", config.stamp_base.value);
  for (const auto& [name, entry] : config.permits) {
    add(text, "permits",
        permits_text(entry.read) + " " + permits_text(entry.write) + " " + escaped(name));
  }
  for (const std::string& id : stored.rights.administrators)
    add(text, "administrator", escaped(id));
  for (const std::string& id : stored.rights.operators) add(text, "operator", escaped(id));
  for (const std::string& id : stored.rights.programs) add(text, "program", escaped(id));
  return text;
}

namespace {

bool read_config(std::string_view text, StoredConfig& stored) {
  if (!text.starts_with(format_line)) return false;
  SpaceConfig& config = stored.config;
  Lines lines(text.substr(format_line.size()));
  while (lines.next()) {
    if (lines.key() == "base") {
      lines.read(stored.base);
    } else if (lines.key() == "version") {
      lines.read(config.version);
    } else if (lines.key() == "layout") {
      lines.read(stored.layout);
      if (stored.layout != newest_layout) lines.spoil();
    } else if (lines.key() == "traces") {
      int layout = 0;
      lines.read(layout);
      if (layout != 1) lines.spoil();
      stored.traces = true;
    } else if (lines.key() == "max_lease_us") {
      lines.read(config.max_lease);
    } else if (lines.key() == "max_overtakes") {
      lines.read(config.max_overtakes);
    } else if (lines.key() == "migration_phase") {
      lines.read(config.migration_phase);
    } else if (lines.key() == "stamp_base") {
      lines.read(config.stamp_base.value);
    } else if (lines.key() == "permits") {
      SpaceConfig::Entry entry;
      read_permits(lines, entry.read);
      read_permits(lines, entry.write);
      std::string name;
      lines.read(name);
      config.permits[name] = entry;
    } else if (lines.key() == "epoch") {
      std::int64_t epoch = 0;
      lines.read(lines.first_word(), epoch);
      std::string app;
      lines.read(app);
      config.epochs[app] = epoch;
    } else if (lines.key() == "administrator") {
      lines.read(stored.rights.administrators.emplace_back());
    } else if (lines.key() == "operator") {
      lines.read(stored.rights.operators.emplace_back());
    } else if (lines.key() == "program") {
      lines.read(stored.rights.programs.emplace_back());
    } else {
      lines.spoil();  // an acquire depends on it, and this program does not know it
    }
  }
  return !lines.broken();
}

}  // namespace

std::optional<StoredConfig> config_from(std::string_view text, std::string_view settings) {
  StoredConfig stored;
  stored.layout = newest_layout - 1;
  if (!read_config(text, stored) || !read_config(settings, stored)) return {};
  if (stored.base <= 0 || stored.config.version <= 0) return {};
  return stored;
}

std::optional<StoredConfig> config_from_version_1(std::string_view text) {
  StoredConfig stored;
  if (!read_config(text, stored) || stored.base <= 0 || stored.config.version <= 0) return {};
  return stored;
}

}  // namespace lockset::zookeeper
