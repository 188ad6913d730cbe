// Builds the text of a CALL. Every value from outside is a hexadecimal literal: nothing needs
// quoting, and nothing can be mistaken for SQL.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lockset/inspection.h"
#include "lockset/lock_set.h"
#include "lockset/stamp.h"

namespace lockset::mysql {

// x'6162', or x'' for an empty value.
std::string hex_literal(std::string_view bytes);

class CallText {
 public:
  explicit CallText(const std::string& procedure) : text_("CALL " + procedure + "(") {}
  CallText& number(std::int64_t value) { return raw(std::to_string(value)); }
  CallText& bytes(std::string_view value) { return raw(hex_literal(value)); }
  // UTF-8, for a parameter with a character set.
  CallText& utf8(std::string_view value) { return raw("_utf8mb4 " + hex_literal(value)); }
  CallText& null() { return raw("NULL"); }
  [[nodiscard]] std::string str() const { return text_ + ")"; }

 private:
  CallText& raw(std::string_view argument) {
    if (text_.back() != '(') text_ += ',';
    text_ += argument;
    return *this;
  }
  std::string text_;
};

// "\"a\"", with the escapes that JSON requires. REQUIRES: UTF-8 without control characters.
std::string json_string(std::string_view text);

// Its label, cut to what the column takes: whole characters.
std::string_view label_of(const Owner& owner);

// Each name preceded by a byte with its length.
std::string packed_names(const LockSet& set);

std::string_view bytes_of(const Token& token);

}  // namespace lockset::mysql
