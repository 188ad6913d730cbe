// Statements for MariaDB and MySQL that look right but are wrong, on real servers: the checker
// finds each one, and the right ones of the same shape pass under the same load.
#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "tests/mutants/load.h"
#include "tests/mutants/mysql_store.h"
#include "tests/support/private_server.h"
#include "tests/support/requirement.h"

namespace lockset::mutants {
namespace {

using namespace std::chrono_literals;

// Looks and takes in one statement, which sees the state of its beginning.
constexpr const char* one_statement = R"(
CREATE PROCEDURE take(IN one VARBINARY(9), IN two VARBINARY(9))
BEGIN
  DECLARE drawn BIGINT DEFAULT 0;
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  INSERT INTO stamps VALUES (NULL);
  SET drawn = LAST_INSERT_ID();
  INSERT INTO holds SELECT name, drawn FROM names
    WHERE (name = one OR name = two)
    AND NOT EXISTS (SELECT 1 FROM holds h WHERE h.name = one OR h.name = two)
    AND SLEEP(0.001) = 0;
  IF ROW_COUNT() = 0 THEN SET drawn = 0; END IF;
  COMMIT;
  SELECT drawn;
END)";

struct Statements {
  const char* name;
  std::string take;
  // Unset: nothing, because they are right.
  std::optional<Invariant> meant{};
  std::vector<Invariant> also{};
  // Rare events need another load than the rest.
  Load load{.clients = 8, .round = 200ms, .reads = 0, .keep = 2ms};
  // So many the right ones have to make.
  std::uint64_t grants = 40;
};

constexpr auto exclusion = Invariant::exclusion;
constexpr auto fencing = Invariant::fencing;

const Load on_four_names{
    .clients = 8, .round = 200ms, .names = 4, .largest_set = 1, .reads = 0, .keep = 10ms};

const Statements all_statements[] = {
    {"right_one", mysql_procedure({})},
    {"right_on_four_names", mysql_procedure({}), {}, {}, on_four_names, 400},
    {"no_lock", mysql_procedure({.lock = ""}), exclusion, {fencing}},
    // Excludes as it should; but the client that drew the smaller stamp may be granted later.
    {"stamp_before_the_lock",
     mysql_procedure({.before_the_locks = "INSERT INTO stamps VALUES (NULL); COMMIT;"
                                          "SET drawn = LAST_INSERT_ID(); DO SLEEP(0.003 * RAND());"
                                          "SET TRANSACTION ISOLATION LEVEL READ COMMITTED;"
                                          "START TRANSACTION;",
                      .draw = ""}),
     fencing},
    // The holder may release the name between the stamp and the look.
    {"stamp_before_the_look",
     mysql_procedure({.before_the_look = "INSERT INTO stamps VALUES (NULL);"
                                         "SET drawn = LAST_INSERT_ID(); DO SLEEP(0.01 * RAND());",
                      .draw = ""}),
     fencing,
     {},
     on_four_names},
    {"one_statement", one_statement, exclusion, {fencing}},
    // Any read before the locks makes the snapshot that the look then uses.
    {"stale_snapshot",
     mysql_procedure({.isolation = "REPEATABLE READ",
                      .before_the_locks = "SELECT COUNT(*) INTO ignored FROM names;"}),
     exclusion,
     {fencing}},
};

struct Case {
  std::string kind;
  const Statements* statements;
};

void PrintTo(const Case& one, std::ostream* out) {
  *out << one.kind << " " << one.statements->name;
}

class MysqlMutants : public testing::TestWithParam<Case> {};

TEST_P(MysqlMutants, AreFlagged) {
  const auto& [kind, statements] = GetParam();
  if (!test::have_server(kind)) return;
  static std::map<std::string, std::unique_ptr<test::PrivateServer>> servers;
  std::unique_ptr<test::PrivateServer>& server = servers[kind];
  if (!server) server = std::make_unique<test::PrivateServer>(kind);
  make_mysql_store(server->admin_url(), 0, statements->take);
  Scene scene;
  scene.connect = [&] { return open_mysql_store(server->admin_url()); };
  scene.load = statements->load;
  scene.rules.least = {.grants = statements->grants, .overlaps = 40, .busy = 20, .faults = 0};
  if (statements->meant) {
    expect_flagged(scene, *statements->meant, statements->also);
  } else {
    expect_sound(scene);
  }
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const char* kind : {"mariadb", "mysql"}) {
    for (const Statements& each : all_statements) cases.push_back({kind, &each});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Statements, MysqlMutants, testing::ValuesIn(all_cases()),
                         [](const auto& each) {
                           return each.param.kind + "_" + each.param.statements->name;
                         });

}  // namespace
}  // namespace lockset::mutants
