#include "backends/parameters.h"

#include <algorithm>
#include <chrono>
#include <fstream>

#include "lockset/lock_set.h"

namespace lockset::addresses {
namespace {

// "a, b or c"; `last` stands before the last.
std::string list_of(const std::vector<std::string_view>& words, std::string_view last) {
  std::string list;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) list += i + 1 < words.size() ? ", " : last;
    list += words[i];
  }
  return list;
}

}  // namespace

Error invalid(std::string text) { return Error{Errc::invalid, std::move(text)}; }

Error no_such_word(const std::string& name, const std::vector<std::string_view>& words,
                   const std::string& value) {
  return invalid(name + " is " + list_of(words, " or ") + ", not " + in_quotes(value));
}

Status read_parameters(const Url& url, const Parameters& known) {
  for (const auto& given : url.params) {
    // Clang before 16 can't capture the names of a structured binding.
    const std::string& name = given.first;
    const std::string& value = given.second;
    const auto found = std::find_if(known.begin(), known.end(),
                                    [&](const Parameter& each) { return each.name == name; });
    if (found == known.end()) {
      std::vector<std::string_view> names;
      for (const Parameter& each : known) names.push_back(each.name);
      return invalid("unknown parameter " + in_quotes(name) + " in a " + url.scheme +
                     ": address; known " + (names.size() == 1 ? "is " : "are ") +
                     list_of(names, ", "));
    }
    // Where a client library takes C strings, it would end the value.
    if (value.find('\0') != std::string::npos) {
      return invalid("the parameter " + name + " holds a zero byte");
    }
    if (Status status = found->read(name, value); !status) return status;
  }
  return {};
}

Reader space_name(std::string& option) {
  return [&option](const std::string& name, const std::string& value) -> Status {
    const bool simple = std::all_of(value.begin(), value.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    });
    if (value.empty() || value.size() > 32 || !simple) {
      return invalid(name + " must be 1 to 32 of a-z, 0-9 and _, not " + in_quotes(value));
    }
    return option = value, Status();
  };
}

Reader pool_size(std::size_t& option) {
  return [&option](const std::string& name, const std::string& value) -> Status {
    if (std::size_t size = 0; parse_number<std::size_t>(value, 1, 1000, size)) {
      return option = size, Status();
    }
    return invalid(name + " must be 1 to 1000, not " + in_quotes(value));
  };
}

Reader duration_from(Duration least, Duration& option) {
  return [least, &option](const std::string& name, const std::string& value) -> Status {
    const Result<Duration> duration = parse_duration(value);
    if (!duration || *duration < least || *duration > std::chrono::hours(1)) {
      return invalid(name + " must be " + format_duration(least) + " to 1h, not " +
                     in_quotes(value));
    }
    return option = *duration, Status();
  };
}

Reader connect_timeout(Duration& option) {
  return duration_from(std::chrono::milliseconds(100), option);
}

Reader text(std::string& option) {
  return
      [&option](const std::string&, const std::string& value) { return option = value, Status(); };
}

Reader password_file(std::string& option) {
  return [&option](const std::string& name, const std::string& value) -> Status {
    std::ifstream file(value);
    std::string line;
    if (!file || !std::getline(file, line)) {
      return Error{Errc::misconfigured, "the " + name + " " + in_quotes(value) +
                                            " can't be read: it holds the password in its first "
                                            "line"};
    }
    if (line.ends_with('\r')) line.pop_back();
    return option = line, Status();
  };
}

Reader on_or_off(bool& option) { return one_of(option, {{"on", true}, {"off", false}}); }

}  // namespace lockset::addresses
