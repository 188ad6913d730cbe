// The SQL of examples and pages, as an application runs it in a database of its own.
#pragma once

#include <cctype>
#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>

namespace lockset::test {

// One connection. Errors of the server are thrown, as exceptions derived from std::exception.
class SqlSession {
 public:
  virtual ~SqlSession() = default;
  // The number of rows that it changed.
  virtual std::int64_t change(const std::string& sql) = 0;
  // The first column of the first row; unset: no row.
  virtual std::optional<std::int64_t> number(const std::string& sql) = 0;
  // The next statements wait for a row for a second at most, then they fail.
  virtual void be_impatient() = 0;
};

// The statements of a file, with values for `:name` and without comments.
inline std::string sql_in(const std::string& path,
                          const std::map<std::string, std::int64_t>& values = {}) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("no " + path);
  std::ostringstream all;
  for (std::string line; std::getline(in, line);) all << line.substr(0, line.find("--")) << '\n';
  const std::string text = all.str();
  std::string sql;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != ':') {
      sql += text[at];
      continue;
    }
    std::size_t end = at + 1;
    while (end < text.size() && (std::islower(text[end]) != 0 || text[end] == '_')) ++end;
    sql += std::to_string(values.at(text.substr(at + 1, end - at - 1)));
    at = end - 1;
  }
  while (sql.ends_with('\n') || sql.ends_with(';') || sql.ends_with(' ')) sql.pop_back();
  return sql;
}

}  // namespace lockset::test
