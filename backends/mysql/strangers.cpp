#include "backends/mysql/strangers.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>
#include <string>
#include <string_view>

#include "backends/mysql/call_text.h"
#include "backends/mysql/sql.h"
#include "lockset/lock_set.h"

namespace lockset::mysql {
namespace {

constexpr std::string_view table_comment = "Lockset schema ";

// A table as information_schema describes it, in words of our own.
struct Shape {
  std::string columns;  // "name varbinary(255), low bigint, ..."
  std::string keys;     // its unique ones: "PRIMARY(name,stamp)"
  bool operator==(const Shape&) const = default;
};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return text;
}

// The shape by our own CREATE TABLE: a line for each column, which begins with its name in small
// letters.
Shape shape_of(std::string_view create) {
  Shape shape;
  std::istringstream lines{std::string(create)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    std::string type;
    words >> name >> type;
    if (!line.starts_with("  ")) continue;
    const bool primary = line.find("PRIMARY KEY") != std::string::npos;
    if (name == "PRIMARY") {
      const std::size_t from = line.find('(');
      shape.keys = "PRIMARY" + line.substr(from, line.find(')') - from + 1);
      shape.keys.erase(std::remove(shape.keys.begin(), shape.keys.end(), ' '), shape.keys.end());
    }
    if (std::islower(static_cast<unsigned char>(name.front())) == 0) continue;
    if (primary) shape.keys = "PRIMARY(" + name + ")";
    if (type.ends_with(',')) type.pop_back();
    shape.columns += (shape.columns.empty() ? "" : ", ") + name + " " + lower(type);
    if (line.find("NOT NULL") == std::string::npos) shape.columns += " null";
    if (line.find("AUTO_INCREMENT") != std::string::npos) shape.columns += " auto_increment";
  }
  return shape;
}

class Look {
 public:
  Look(Connection& connection, const Options& options, TimePoint by)
      : connection_(connection), options_(options), by_(by) {
    for (const NamedSql& table : table_texts(options.strategy)) {
      expected_[options.space + std::string(table.name)] = shape_of(table.sql);
    }
    for (const auto& [name, shape] : expected_) {
      names_ += (names_.empty() ? "(" : ", ") + ("_utf8mb4 " + hex_literal(name));
    }
    names_ += ")";
  }

  Status run() {
    if (Status kinds = check_kinds(); !kinds) return kinds;
    if (Status shapes = check_shapes(); !shapes) return shapes;
    return check_what_hangs_on_them();
  }

 private:
  Result<Reply> say(const std::string& sql) {
    CallFailure failure;
    return connection_.run(sql, Sent::reading, by_, failure);
  }
  [[nodiscard]] Error foreign(const std::string& what) const {
    return Error{Errc::misconfigured, options_.shown() + ": " + what +
                                          " and was left as it is: drop it, or choose another "
                                          "parameter space"};
  }

  Status check_kinds() {
    const Result<Reply> tables =
        say("SELECT table_name, table_type, engine, table_comment FROM information_schema.tables "
            "WHERE table_schema = DATABASE() AND table_name IN " +
            names_);
    if (!tables) return tables.error();
    for (std::size_t row = 0; row < tables->rows.size(); ++row) {
      const std::string& name = tables->text(0, row);
      if (tables->text(1, row) != "BASE TABLE") {
        return foreign(in_quotes(name) + " is a view");
      }
      if (!tables->text(3, row).starts_with(table_comment)) {
        return foreign("the table " + in_quotes(name) + " is another program's");
      }
      if (tables->text(2, row) != "InnoDB") {
        return foreign("the table " + in_quotes(name) + " is not of InnoDB");
      }
      there_[name] = {};
    }
    return {};
  }

  Status check_shapes() {
    const Result<Reply> columns = say(
        "SELECT table_name, column_name, data_type, character_maximum_length, is_nullable, extra "
        "FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name IN " +
        names_ + " ORDER BY table_name, ordinal_position");
    if (!columns) return columns.error();
    for (std::size_t row = 0; row < columns->rows.size(); ++row) {
      std::string& text = there_[columns->text(0, row)].columns;
      const std::string& length = columns->text(3, row);
      text += (text.empty() ? "" : ", ") + columns->text(1, row) + " " +
              lower(columns->text(2, row)) + (length.empty() ? "" : "(" + length + ")");
      if (columns->text(4, row) != "NO") text += " null";
      if (!columns->text(5, row).empty()) text += " " + lower(columns->text(5, row));
    }
    const Result<Reply> keys =
        say("SELECT table_name, CONCAT(index_name, '(', GROUP_CONCAT(CONCAT(column_name, "
            "COALESCE(CONCAT(':', sub_part), '')) ORDER BY seq_in_index), ')') "
            "FROM information_schema.statistics WHERE table_schema = DATABASE() "
            "AND non_unique = 0 AND table_name IN " +
            names_ + " GROUP BY table_name, index_name ORDER BY table_name, index_name");
    if (!keys) return keys.error();
    for (std::size_t row = 0; row < keys->rows.size(); ++row) {
      there_[keys->text(0, row)].keys += keys->text(1, row);
    }
    for (const auto& [name, shape] : there_) {
      const auto ours = expected_.find(name);
      if (ours != expected_.end() && ours->second == shape) continue;
      return foreign("the table " + in_quotes(name) + " has other columns or keys than Lockset's");
    }
    return {};
  }

  // The server shows triggers only to users with TRIGGER on the table.
  Status check_what_hangs_on_them() {
    const Result<Reply> triggers =
        say("SELECT trigger_name, event_object_table, definer FROM information_schema.triggers "
            "WHERE event_object_schema = DATABASE() AND event_object_table IN " +
            names_ + " LIMIT 1");
    if (!triggers) return triggers.error();
    if (!triggers->rows.empty()) {
      return foreign("the trigger " + in_quotes(triggers->text(0)) + " of " + triggers->text(2) +
                     " hangs on the table " + in_quotes(triggers->text(1)));
    }
    const Result<Reply> constraints =
        say("SELECT constraint_name, table_name FROM information_schema.table_constraints "
            "WHERE table_schema = DATABASE() AND table_name IN " +
            names_ +
            " AND constraint_type NOT IN ('PRIMARY KEY', 'UNIQUE') "
            "UNION ALL SELECT constraint_name, table_name "
            "FROM information_schema.key_column_usage "
            "WHERE referenced_table_schema = DATABASE() AND referenced_table_name IN " +
            names_ + " LIMIT 1");
    if (!constraints) return constraints.error();
    if (constraints->rows.empty()) return {};
    return foreign("the constraint " + in_quotes(constraints->text(0)) + " of the table " +
                   in_quotes(constraints->text(1)) + " is not Lockset's");
  }

  Connection& connection_;
  const Options& options_;
  const TimePoint by_;
  std::map<std::string, Shape> expected_;
  std::map<std::string, Shape> there_;
  std::string names_;
};

}  // namespace

Status refuse_strangers(Connection& connection, const Options& options, TimePoint by) {
  return Look(connection, options, by).run();
}

Status refuse_view(Connection& connection, const Options& options, TimePoint by) {
  CallFailure failure;
  const std::string name = options.space + "_space";
  const Result<Reply> type = connection.run(
      "SELECT table_type FROM information_schema.tables WHERE table_schema = DATABASE() AND "
      "table_name = _utf8mb4 " +
          hex_literal(name),
      Sent::reading, by, failure);
  if (!type) return type.error();
  if (type->rows.empty() || type->text(0) == "BASE TABLE") return {};
  return Error{Errc::misconfigured, options.shown() + ": " + in_quotes(name) +
                                        " is a view, not the table that lockset init makes: drop "
                                        "it, or choose another parameter space"};
}

}  // namespace lockset::mysql
