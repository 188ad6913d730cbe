// A table with a title and groups of rows: names on the left, numbers right-aligned.
#pragma once

#include <string>
#include <vector>

namespace lockset::bench {

class Sheet {
 public:
  Sheet(std::string title, std::string first, std::vector<std::string> columns);

  // The following rows belong to `name`.
  void group(std::string name);
  // One cell per column; "" for an empty cell.
  void row(std::string name, std::vector<std::string> cells);
  // From this column on, cells are left-aligned: words instead of numbers.
  void words_from(std::size_t column) { words_from_ = column; }

  // "" without rows. Columns that are empty in all rows are left out; names that are too long for a
  // line are cut.
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

// `text`, cut between two characters if it is longer than `most`.
std::string cut(std::string text, std::size_t most);
// `text` in lines that begin with `indent` blanks, broken at blanks.
std::string wrapped(const std::string& text, std::size_t indent);

}  // namespace lockset::bench
