#include "benchmarks/report/sheet.h"

#include <algorithm>
#include <sstream>

#include "tools/table.h"

namespace lockset::bench {
namespace {

constexpr std::size_t gap = 2;  // the same as tools::Table's
constexpr std::size_t shortest_name = 12;

}  // namespace

Sheet::Sheet(std::string title, std::string first, std::vector<std::string> columns)
    : title_(std::move(title)), first_(std::move(first)), columns_(std::move(columns)) {}

void Sheet::group(std::string name) { rows_.push_back({true, std::move(name), {}}); }

void Sheet::row(std::string name, std::vector<std::string> cells) {
  cells.resize(columns_.size());
  rows_.push_back({false, std::move(name), std::move(cells)});
}

std::string Sheet::text() const {
  std::vector<std::size_t> used;
  std::vector<std::size_t> widths;
  std::size_t others = 0;
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    std::size_t width = 0;
    for (const Row& row : rows_) {
      if (!row.heading) width = std::max(width, row.cells[column].size());
    }
    if (width == 0) continue;
    used.push_back(column);
    widths.push_back(std::max(width, columns_[column].size()));
    others += widths.back() + gap;
  }
  if (std::none_of(rows_.begin(), rows_.end(), [](const Row& row) { return !row.heading; })) {
    return "";
  }
  const std::size_t name_width =
      others + shortest_name < page_width ? page_width - others : shortest_name;

  const auto line = [&](const std::string& name, const std::vector<std::string>& cells) {
    std::vector<std::string> result{cut(name, name_width)};
    for (std::size_t i = 0; i < used.size(); ++i) {
      const std::string& cell = cells[used[i]];
      const std::size_t missing = used[i] >= words_from_ ? 0 : widths[i] - cell.size();
      result.push_back(std::string(missing, ' ') + cell);
    }
    return result;
  };
  tools::Table table(line("  " + first_, columns_));
  for (const Row& row : rows_) {
    if (!row.heading) table.add(line("    " + row.name, row.cells));
  }
  // Headings may have any length: they come in between.
  std::istringstream lines(table.text());
  std::string text = "\n" + wrapped(title_, 0);
  std::string next;
  std::getline(lines, next);
  text += next + "\n";
  for (const Row& row : rows_) {
    if (row.heading) {
      text += wrapped(row.name, 2);
    } else {
      std::getline(lines, next);
      text += next + "\n";
    }
  }
  return text;
}

std::string cut(std::string text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t end = most > 3 ? most - 3 : 0;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  text.resize(end);
  return text + "...";
}

std::string wrapped(const std::string& text, std::size_t indent) {
  const std::string margin(indent, ' ');
  std::istringstream words(text);
  std::string result;
  std::string line;
  for (std::string word; words >> word;) {
    word = cut(std::move(word), page_width - indent);
    if (!line.empty() && indent + line.size() + 1 + word.size() > page_width) {
      result += margin + line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  if (!line.empty()) result += margin + line + "\n";
  return result;
}

}  // namespace lockset::bench
