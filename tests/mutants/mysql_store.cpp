#include "tests/mutants/mysql_store.h"

#include "tests/mutants/small_backend.h"
#include "tests/mysql/raw_client.h"

namespace lockset::mutants {
namespace {

class Mysql final : public SmallBackend {
 public:
  explicit Mysql(const std::string& url) : session_(url) {
    // Newer versions of MariaDB would notice a stale snapshot; not all servers do.
    (void)session_.code_of("SET SESSION innodb_snapshot_isolation = OFF");
  }

 private:
  std::int64_t take(const Names& names, Duration) override {
    const std::string second = names.size() > 1 ? "'" + names[1] + "'" : "NULL";
    return session_.number("CALL take('" + names[0] + "', " + second + ")");
  }
  bool give_back(const Names& names, std::int64_t stamp) override {
    for (const std::string& name : names) {
      session_.rows("DELETE FROM holds WHERE name = '" + name +
                    "' AND stamp = " + std::to_string(stamp));
    }
    return true;
  }

  test::RawMysql session_;
};

}  // namespace

std::string mysql_procedure(const MysqlSteps& steps) {
  const auto locked = [&](const std::string& name) {
    return "SELECT COUNT(*) INTO ignored FROM names WHERE name = " + name + steps.lock + ";\n";
  };
  return std::string("CREATE PROCEDURE take(IN one VARBINARY(9), IN two VARBINARY(9))\nBEGIN\n") +
         "DECLARE drawn BIGINT DEFAULT 0;\nDECLARE ignored, held INT DEFAULT 0;\n" +
         "SET TRANSACTION ISOLATION LEVEL " + steps.isolation + ";\nSTART TRANSACTION;\n" +
         steps.before_the_locks + "\n" + locked("one") + "IF two IS NOT NULL THEN " +
         locked("two") + "END IF;\n" + steps.before_the_look +
         "\nSELECT COUNT(*) INTO held FROM holds WHERE name = one OR name = two;\n" +
         "IF held > 0 THEN SET drawn = 0;\nELSE\n" + steps.before_the_stamp + "\n" + steps.draw +
         "\nINSERT INTO holds VALUES (one, drawn);\n" +
         "IF two IS NOT NULL THEN INSERT INTO holds VALUES (two, drawn); END IF;\n" +
         "END IF;\nCOMMIT;\nSELECT drawn;\nEND";
}

void make_mysql_store(const std::string& url, std::size_t more_names,
                      const std::string& procedure) {
  test::RawMysql admin(url);
  admin.rows("DROP DATABASE lockset");
  admin.rows("CREATE DATABASE lockset");
  admin.rows("USE lockset");
  admin.rows("CREATE TABLE names(name VARBINARY(9) PRIMARY KEY)");
  admin.rows("INSERT INTO names VALUES ('a'), ('b'), ('c'), ('d')");
  for (std::size_t i = 0; i < more_names; ++i) {
    admin.rows("INSERT INTO names VALUES ('n" + std::to_string(i) + "')");
  }
  admin.rows("CREATE TABLE holds(name VARBINARY(9), stamp BIGINT, PRIMARY KEY (name, stamp))");
  admin.rows("CREATE TABLE stamps(stamp BIGINT AUTO_INCREMENT PRIMARY KEY)");
  admin.rows(procedure);
}

std::shared_ptr<Backend> open_mysql_store(const std::string& url) {
  return std::make_shared<Mysql>(url);
}

}  // namespace lockset::mutants
