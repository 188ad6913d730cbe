// A table with a title and groups of rows: names to the left, numbers in line at their ends.
#pragma once

#include <string>
#include <vector>

namespace lockset::bench {

class Sheet {
 public:
  Sheet(std::string title, std::string first, std::vector<std::string> columns);

  // Rows that follow belong to `name`.
  void group(std::string name);
  // One cell per column; "" where there is nothing to say.
  void row(std::string name, std::vector<std::string> cells);
  // From this column on cells begin in line: words instead of numbers.
  void words_from(std::size_t column) { words_from_ = column; }

  // "" without rows. Columns that no row says anything in are left out, names that are too long
  // for a line are cut.
  [[nodiscard]] std::string text() const;

 private:
  struct Row {
    bool heading = false;
    std::string name;
    std::vector<std::string> cells;
  };

  std::string title_;
  std::string first_;
  std::vector<std::string> columns_;
  std::vector<Row> rows_;
  std::size_t words_from_ = static_cast<std::size_t>(-1);
};

inline constexpr std::size_t page_width = 100;

// `text`, cut at the end if it is longer, between two characters.
std::string cut(std::string text, std::size_t most);
// `text` in lines that begin with `indent` blanks, broken at blanks.
std::string wrapped(const std::string& text, std::size_t indent);

}  // namespace lockset::bench
