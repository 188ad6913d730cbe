#include "tools/table.h"

#include <algorithm>
#include <cwchar>

#include "lockset/lock_set.h"

namespace lockset::tools {
namespace {

// Terminal columns; one per byte if the locale can't tell.
std::size_t width_of(std::string_view text) {
  std::size_t width = 0;
  std::mbstate_t state{};
  while (!text.empty()) {
    wchar_t character = 0;
    std::size_t bytes = std::mbrtowc(&character, text.data(), text.size(), &state);
    if (bytes == 0 || bytes > text.size()) {
      bytes = 1;
      state = {};
      ++width;
    } else {
      const int columns = ::wcwidth(character);
      width += columns >= 0 ? static_cast<std::size_t>(columns) : 1;
    }
    text.remove_prefix(bytes);
  }
  return width;
}

}  // namespace

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  constexpr std::size_t gap = 2;
  std::string result;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] + gap - width_of(row[i]), ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    result += line + "\n";
  }
  return result;
}

std::string shown(std::string_view text) {
  const std::string safe = in_quotes(text);
  const bool plain =
      safe.size() == text.size() + 2 && !text.empty() && text.find(' ') == std::string_view::npos;
  return plain ? std::string(text) : safe;
}

std::string harmless(std::string_view text) {
  const std::string safe = in_quotes(text);
  std::string result;
  // in_quotes() puts a backslash before " and \; nothing here needs it.
  for (std::size_t i = 1; i + 1 < safe.size(); ++i) {
    const bool escape = safe[i] == '\\' && (safe[i + 1] == '"' || safe[i + 1] == '\\');
    if (escape) ++i;
    result += safe[i];
  }
  return result;
}

}  // namespace lockset::tools
