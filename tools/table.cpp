#include "tools/table.h"

#include <algorithm>
#include <cwchar>

#include "lockset/lock_set.h"

namespace lockset::tools {
namespace {

constexpr std::size_t gap = 2;  // blanks between columns

// Takes the first character, and adds its terminal columns to `width`: one per byte if the locale
// can't tell. The number of its bytes.
std::size_t first_of(std::string_view text, std::mbstate_t& state, std::size_t& width) {
  wchar_t character = 0;
  const std::size_t bytes = std::mbrtowc(&character, text.data(), text.size(), &state);
  if (bytes == 0 || bytes > text.size()) {
    state = {};
    ++width;
    return 1;
  }
  const int columns = ::wcwidth(character);
  width += columns >= 0 ? static_cast<std::size_t>(columns) : 1;
  return bytes;
}

std::size_t width_of(std::string_view text) {
  std::size_t width = 0;
  std::mbstate_t state{};
  while (!text.empty()) text.remove_prefix(first_of(text, state, width));
  return width;
}

// At most so many terminal columns of it, with "..." in place of what is left out.
std::string shortened(const std::string& text, std::size_t most) {
  const std::string_view dots = "...";
  if (width_of(text) <= most) return text;
  std::string result;
  std::size_t width = std::min(most, dots.size());
  std::mbstate_t state{};
  for (std::string_view rest = text;;) {
    const std::size_t bytes = first_of(rest, state, width);
    if (width > most) return result + std::string(dots.substr(0, most));
    result += rest.substr(0, bytes);
    rest.remove_prefix(bytes);
  }
}

}  // namespace

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  return widths;
}

void Table::fit(std::size_t width, std::initializer_list<std::string_view> dispensable) {
  const auto too_wide = [&] {
    std::size_t all = 0;
    for (const std::size_t each : widths()) all += each + gap;
    return all > width + gap ? all - width - gap : 0;
  };
  for (const std::string_view heading : dispensable) {
    if (too_wide() == 0) return;
    const auto at = std::ranges::find(rows_.front(), heading) - rows_.front().begin();
    for (auto& row : rows_) row.erase(row.begin() + at);
  }
  const std::size_t too_much = too_wide();
  if (too_much == 0) return;
  // Not below what can be recognised.
  constexpr std::size_t least = 8;
  const std::size_t last = widths().back();
  const std::size_t most = std::max(least, last - std::min(last, too_much));
  for (auto& row : rows_) row.back() = shortened(row.back(), most);
}

std::string Table::text() const {
  const std::vector<std::size_t> widths = this->widths();
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
