#include "backends/postgresql/reply.h"

#include <charconv>

namespace lockset::postgresql {
namespace {

constexpr char separator = '\x1F';

// Takes the text apart, one field after another.
class Fields {
 public:
  explicit Fields(std::string_view text) : rest_(text) {}

  [[nodiscard]] bool at_end() const noexcept { return done_; }
  std::string_view next() {
    const std::size_t end = rest_.find(separator);
    const std::string_view field = rest_.substr(0, end);
    done_ = end == std::string_view::npos;
    rest_ = done_ ? std::string_view() : rest_.substr(end + 1);
    return field;
  }
  std::int64_t next_number() {
    const std::string_view field = next();
    std::int64_t number = 0;
    std::from_chars(field.data(), field.data() + field.size(), number);
    return number;
  }
  [[nodiscard]] std::string_view rest() const noexcept { return rest_; }

 private:
  std::string_view rest_;
  bool done_ = false;
};

void append_name(std::string& array, std::string_view name) {
  if (array.size() > 1) array += ',';
  array += '"';
  for (const char c : name) {
    if (c == '"' || c == '\\') array += '\\';
    array += c;
  }
  array += '"';
}

}  // namespace

std::string array_of_names(std::span<const LockRequest> items) {
  std::string text = "{";
  for (const LockRequest& item : items) append_name(text, item.name);
  return text + "}";
}

std::string array_of_names(std::span<const std::string> names) {
  std::string text = "{";
  for (const std::string& name : names) append_name(text, name);
  return text + "}";
}

std::string array_of_expected(std::span<const Expected> expected, std::size_t items) {
  std::vector<std::string> values(items, "NULL");
  for (const Expected& one : expected) values[one.item] = std::to_string(one.last_write.value);
  std::string text = "{";
  for (const std::string& value : values) text += (text.size() > 1 ? "," : "") + value;
  return text + "}";
}

std::string array_of_modes(std::span<const LockRequest> items) {
  std::string text = "{";
  for (const LockRequest& item : items) {
    if (text.size() > 1) text += ',';
    text += item.mode == Mode::read ? 'r' : 'w';
  }
  return text + "}";
}

Duration duration_from(std::int64_t micros) {
  return micros < 0 ? Duration::max() : Duration(std::chrono::microseconds(micros));
}

Reply parse_reply(std::string_view text) {
  Fields fields(text);
  Reply reply;
  const std::string_view kind = fields.next();
  if (kind == "G") {
    reply.kind = Reply::Kind::granted;
    reply.grant.stamp = Stamp{fields.next_number()};
    reply.grant.lease = duration_from(fields.next_number());
    reply.grant.store_time_us = fields.next_number();
    while (!fields.at_end()) reply.grant.floors.push_back(Stamp{fields.next_number()});
  } else if (kind == "B") {
    reply.kind = Reply::Kind::busy;
    reply.waiter = fields.next_number();
    const std::int64_t first_end = fields.next_number();
    if (first_end >= 0) reply.busy.retry_after = duration_from(first_end);
    reply.busy.mode = mode_from(fields.next());
    reply.busy.holder = Stamp{fields.next_number()};
    reply.busy.name = fields.next();
    reply.busy.holder_label = fields.rest();
  } else if (kind == "C") {
    reply.kind = Reply::Kind::changed;
    reply.changed.item = static_cast<std::size_t>(fields.next_number());
    reply.changed.trace.last_write = Stamp{fields.next_number()};
    const std::int64_t age_us = fields.next_number();
    if (age_us >= 0) reply.changed.trace.age_us = age_us;
    reply.changed.trace.label = fields.rest();
  } else if (kind == "Q") {
    reply.kind = Reply::Kind::quarantine;
    reply.left = duration_from(fields.next_number());
  } else if (kind == "S") {
    reply.kind = Reply::Kind::stale;
  } else if (kind == "N") {
    reply.kind = Reply::Kind::nothing;
  }
  return reply;
}

}  // namespace lockset::postgresql
