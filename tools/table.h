// Columns that are aligned on a terminal, even with wide characters.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace lockset::tools {

class Table {
 public:
  explicit Table(std::vector<std::string> header) { rows_.push_back(std::move(header)); }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  // Columns two blanks apart, no blanks at the ends of lines.
  [[nodiscard]] std::string text() const;
  // Makes the lines fit into so many terminal columns: leaves out the columns of these headings, in
  // this order, as far as needed, and then shortens the last column.
  void fit(std::size_t width, std::initializer_list<std::string_view> dispensable);

 private:
  [[nodiscard]] std::vector<std::size_t> widths() const;

  std::vector<std::vector<std::string>> rows_;
};

// `text` in an unambiguous form that can be shown: in quotes and with \xNN if it contains blanks,
// quotes, or bytes that a terminal would not show or would obey.
std::string shown(std::string_view text);
// The same for a text whose blanks and quotes are harmless: it only changes what a terminal would
// obey.
std::string harmless(std::string_view text);

}  // namespace lockset::tools
