#include "history/text.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "history/fields.h"

namespace lockset::history {
namespace {

constexpr std::string_view magic = "lockset-history 1 ";
constexpr std::string_view forever = "forever";

bool is_plain(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '.' || c == '-';
}

void put(std::string& to, std::string_view text) {
  constexpr char digits[] = "0123456789ABCDEF";
  for (const char c : text) {
    if (is_plain(c)) {
      to += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      to += {'%', digits[byte >> 4], digits[byte & 15]};
    }
  }
}
void put_number(std::string& to, auto number) {
  char buffer[24];
  to.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, number).ptr);
}
void put(std::string& to, const std::string& text) { put(to, std::string_view(text)); }
void put(std::string& to, std::uint64_t number) { put_number(to, number); }
void put(std::string& to, std::uint32_t number) { put_number(to, number); }
void put(std::string& to, bool flag) { to += flag ? '1' : '0'; }
void put(std::string& to, Stamp stamp) { put_number(to, stamp.value); }
void put(std::string& to, Duration duration) {
  if (duration == Duration::max()) {
    to += forever;
  } else {
    put_number(to, static_cast<std::int64_t>(duration.count()));
  }
}
void put(std::string& to, TimePoint time) { put(to, time.time_since_epoch()); }
void put(std::string& to, const Wish& wish) {
  to += wish.mode == Mode::write ? "w:" : "r:";
  put(to, wish.name);
  if (wish.permits > 0) {
    to += '/';
    put_number(to, wish.permits);
  }
}
void put(std::string& to, const Saw& saw) {
  put(to, saw.name);
  to += '/';
  put(to, saw.last_write);
  if (saw.being_written) to += 'w';
}
template <class T>
void put(std::string& to, const std::vector<T>& list) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i > 0) to += ',';
    put(to, list[i]);
  }
}

// Each of these reads the whole of `text`; false if it is of another kind, or not in the form that
// print writes.
template <class Number>
bool get_number(std::string_view text, Number& number) {
  if (text.empty() || (text[0] == '0' && text.size() > 1) || text.starts_with("-0")) return false;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && at == end;
}
bool get(std::string_view text, std::uint64_t& number) { return get_number(text, number); }
bool get(std::string_view text, std::uint32_t& number) { return get_number(text, number); }
bool get(std::string_view text, bool& flag) {
  flag = text == "1";
  return flag || text == "0";
}
bool get(std::string_view text, Stamp& stamp) { return get_number(text, stamp.value); }
bool get(std::string_view text, Duration& duration) {
  duration = Duration::max();
  if (text == forever) return true;
  std::int64_t count = 0;
  const bool good = get_number(text, count) && count >= 0;
  duration = Duration(count);
  return good && duration != Duration::max();
}
bool get(std::string_view text, TimePoint& time) {
  Duration since{};
  const bool good = get(text, since);
  time = TimePoint(since);
  return good;
}
bool get(std::string_view text, std::string& decoded) {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
  };
  decoded.clear();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_plain(text[i])) {
      decoded += text[i];
      continue;
    }
    if (text[i] != '%' || text.size() - i < 3) return false;
    const int high = digit(text[i + 1]);
    const int low = digit(text[i + 2]);
    if (high < 0 || low < 0 || is_plain(static_cast<char>(high * 16 + low))) return false;
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return true;
}
bool get(std::string_view text, Wish& wish) {
  if (!text.starts_with("w:") && !text.starts_with("r:")) return false;
  wish.mode = text[0] == 'w' ? Mode::write : Mode::read;
  text.remove_prefix(2);
  const std::size_t slash = text.find('/');
  if (!get(text.substr(0, slash), wish.name)) return false;
  if (slash == std::string_view::npos) return true;
  return get(text.substr(slash + 1), wish.permits) && wish.permits > 0;
}
bool get(std::string_view text, Saw& saw) {
  saw.being_written = text.ends_with('w');
  if (saw.being_written) text.remove_suffix(1);
  const std::size_t slash = text.find('/');
  return slash != std::string_view::npos && get(text.substr(0, slash), saw.name) &&
         get(text.substr(slash + 1), saw.last_write);
}
template <class T>
bool get(std::string_view text, std::vector<T>& list) {
  if (text.empty()) return true;
  for (;;) {
    const std::size_t comma = text.find(',');
    if (!get(text.substr(0, comma), list.emplace_back())) return false;
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
}

// Takes the text up to the next blank, and the blank.
std::string_view take_word(std::string_view& line) {
  const std::size_t blank = line.find(' ');
  const std::string_view word = line.substr(0, blank);
  // A text that ends with a blank has one more, empty word, which nothing accepts.
  line = blank == std::string_view::npos ? std::string_view() : line.substr(blank + 1);
  return word;
}

std::string expected(std::string_view what, std::string_view instead) {
  return "expected " + std::string(what) + ", not " + in_quotes(instead.substr(0, 80));
}

// An empty text if all is well.
template <class T>
std::string read_fields(std::string_view line, What& what) {
  T read;
  std::string complaint;
  for_fields(read, [&](std::string_view key, auto& value) {
    if (!complaint.empty()) return;
    const std::string_view word = take_word(line);
    const bool right_key =
        word.size() > key.size() && word.starts_with(key) && word[key.size()] == '=';
    if (!right_key || !get(word.substr(key.size() + 1), value)) {
      complaint = expected(std::string(key) + "=...", word);
    }
  });
  if (complaint.empty() && !line.empty()) complaint = expected("the end of the line", line);
  what = std::move(read);
  return complaint;
}

template <std::size_t... index>
std::string read_what(std::string_view kind, std::string_view line, What& what,
                      std::index_sequence<index...>) {
  std::string complaint;
  const bool known =
      ((kind == kind_names[index] &&
        (complaint = read_fields<std::variant_alternative_t<index, What>>(line, what), true)) ||
       ...);
  return known ? complaint : expected("a kind of event", kind);
}

std::string read_event(std::string_view line, Event& event) {
  // take_word forgets whether there was a blank at the end.
  if (line.ends_with(' ')) return expected("no blank at the end", line);
  const std::string_view time = take_word(line);
  if (!get(time, event.time)) return expected("a time", time);
  const std::string_view kind = take_word(line);
  return read_what(kind, line, event.what, std::make_index_sequence<kind_names.size()>());
}

}  // namespace

std::string print_header(std::string_view process) {
  std::string line(magic);
  put(line, process);
  return line + "\n";
}

std::string print(const Event& event) {
  std::string line;
  put(line, event.time);
  line += ' ';
  line += kind_names[event.what.index()];
  std::visit(
      [&](const auto& what) {
        for_fields(what, [&](std::string_view key, const auto& value) {
          line += ' ';
          line += key;
          line += '=';
          put(line, value);
        });
      },
      event.what);
  return line + "\n";
}

Result<Event> parse(std::string_view line) {
  Event event;
  std::string complaint = read_event(line, event);
  if (!complaint.empty()) return Error{Errc::invalid, std::move(complaint)};
  return event;
}

Result<Log> parse_log(std::string_view text, std::string source) {
  Log log;
  log.source = std::move(source);
  log.events.reserve(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')));
  std::size_t number = 0;
  const auto bad = [&](const std::string& why) {
    return Error{Errc::invalid, "bad line " + std::to_string(number) + " of the history " +
                                    log.source + ": " + why};
  };
  for (;;) {
    ++number;
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) {
      // Even a cut file must be the beginning of a history; otherwise it is another kind of file.
      const std::string_view seen = text.substr(0, magic.size());
      if (number == 1 && !magic.starts_with(seen)) return bad(expected(magic, seen));
      return log;
    }
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (number == 1) {
      if (!line.starts_with(magic) || line.size() == magic.size() ||
          !get(line.substr(magic.size()), log.process)) {
        return bad(expected(std::string(magic) + "PROCESS", line));
      }
      continue;
    }
    Event event;
    const std::string complaint = read_event(line, event);
    if (!complaint.empty()) return bad(complaint);
    log.events.push_back(std::move(event));
  }
}

}  // namespace lockset::history
