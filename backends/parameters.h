// The parameters after the ? of an address. Each store has one table of them, which refers to the
// options that they set. read_parameters() does the rest, with the same messages for all stores.
#pragma once

#include <charconv>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "lockset/clock.h"
#include "lockset/error.h"
#include "lockset/url.h"

namespace lockset::addresses {

Error invalid(std::string text);

// True if the whole text is a decimal number from `least` to `most`.
template <class Number>
bool parse_number(std::string_view text, Number least, Number most, Number& number) {
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failed == std::errc() && end == text.data() + text.size() && number >= least &&
         number <= most;
}

// Stores a value in its option. An unusable value leaves the option unchanged; Errc::invalid then
// says what the parameter must be.
using Reader = std::function<Status(const std::string& name, const std::string& value)>;

struct Parameter {
  std::string name;
  Reader read;
};

// Refers to the options that it sets: they must outlive it.
using Parameters = std::vector<Parameter>;

// Errc::invalid for a parameter that is not in the table; the message names those that are.
Status read_parameters(const Url& url, const Parameters& known);

// The kinds of values. The options must outlive the readers.

// A word that every store can use inside the names of tables, functions and keys.
Reader space_name(std::string& option);
// 1 to 1000 connections.
Reader pool_size(std::size_t& option);
// A duration from `least` to an hour.
Reader duration_from(Duration least, Duration& option);
Reader connect_timeout(Duration& option);
Reader text(std::string& option);
// A path; the option becomes the first line of that file. Errc::misconfigured if it can't be read.
Reader password_file(std::string& option);

// The words that a parameter may be, each with its meaning.
template <class Option>
using Words = std::vector<std::pair<std::string_view, Option>>;

// "ssl_mode is disabled or required, not "x"", for words like these.
Error no_such_word(const std::string& name, const std::vector<std::string_view>& words,
                   const std::string& value);

template <class Option>
Reader one_of(Option& option, std::type_identity_t<Words<Option>> words) {
  return [&option, words = std::move(words)](const std::string& name,
                                             const std::string& value) -> Status {
    std::vector<std::string_view> all;
    for (const auto& [word, meaning] : words) {
      if (word == value) return option = meaning, Status();
      all.push_back(word);
    }
    return no_such_word(name, all, value);
  };
}

Reader on_or_off(bool& option);

}  // namespace lockset::addresses
